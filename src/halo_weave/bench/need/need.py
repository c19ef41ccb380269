"""`halo-weave bench need`: fits the numbers that decide what a message needs, and measures what they are worth.

The examples are the questions of all data files, each asked of the memory filled with its file, and the messages of
`bench restraint`, which need nothing, sent to each of these memories. Each file weighs the same, and the questions of a
file as much as its messages. What the numbers are worth is measured by cross-validation over whole conversations: every
question and message is judged by numbers that were fitted without it, and without all others of its conversation.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from halo_weave.bench.conversations import read_conversations
from halo_weave.bench.need.logistic_regression import Numbers, fitted
from halo_weave.bench.progress import Progress
from halo_weave.bench.recall import FilledMemory, evidence_of, filled_memory
from halo_weave.bench.restraint.messages import MESSAGES
from halo_weave.config import Settings
from halo_weave.errors import InputError
from halo_weave.memory.search.search import Hit
from halo_weave.records.chunks import ChunkKey
from halo_weave.session.turn.need import NEED, NeedModel, closeness, needs_of
from halo_weave.session.turn.recalling import FOUND_AT_MOST
from halo_weave.weave.settings import LEAST_NEED

BUDGET = 1024
_FOLDS = 5
_FITTED_HITS = 40
_SHARE_OF_ENGLISH = 0.8
"""Of the weight of the messages that need nothing: the bundled embedder knows English, so only that is difficult."""


class Example(NamedTuple):
    """A question or a message that needs nothing. `group` is left out as a whole in cross-validation."""

    data: str
    group: str
    is_question: bool
    weight: float
    hits: Sequence[Hit]
    likeness: float
    evidence: frozenset[ChunkKey]
    evidence_tokens: int


def run(settings: Settings, data: Sequence[Path], on_progress: Progress) -> dict[str, Any]:
    examples = [example for file in data for example in _examples(settings, file, on_progress)]
    on_progress("fitting")
    folds = _folds(examples)
    models = [fit([one for one in examples if folds[one.group] != fold]) for fold in range(max(folds.values()) + 1)]
    needs = [_needs(one, models[folds[one.group]]) for one in examples]
    floors = {**dict[str, float](LEAST_NEED.items()), "everything": 0.0}
    spread = np.std(np.array(models), axis=0).tolist()
    return {
        "model": fit(examples)._asdict(),
        "spread_over_folds": dict(zip(NeedModel._fields, spread, strict=True)),
        "in_use": NEED._asdict(),
        **{
            file.name: {
                recall: _worth([(o, n) for o, n in zip(examples, needs, strict=True) if o.data == file.name], floor)
                for recall, floor in floors.items()
            }
            for file in data
        },
    }


def fit(examples: Sequence[Example]) -> NeedModel:
    return NeedModel(*_fit_about(examples).tolist(), *_fit_needed(examples).tolist())


def _fit_about(examples: Sequence[Example]) -> Numbers:
    # A time that a message names decides by itself.
    chosen = [one for one in examples if not any(hit.is_of_named_time for hit in one.hits)]
    known = [(one, *closeness(one.hits)) for one in chosen]
    rows = [(1.0, similarity, words, one.likeness) for one, similarity, words in known if similarity is not None]
    used = [one for one, similarity, _ in known if similarity is not None]
    labels = np.array([float(one.is_question) for one in used])
    return fitted(np.array(rows), labels, np.array([one.weight for one in used]))


def _fit_needed(examples: Sequence[Example]) -> Numbers:
    rows, labels, weights = [], [], []
    for one in examples:
        if one.is_question and one.hits:
            best = one.hits[0].score
            for rank, hit in enumerate(one.hits[:_FITTED_HITS], start=1):
                rows.append((1.0, best - hit.score, np.log(rank)))
                labels.append(float(hit.chunk.key in one.evidence))
                weights.append(one.weight)
    return fitted(np.array(rows), np.array(labels), np.array(weights))


def _examples(settings: Settings, data: Path, on_progress: Progress) -> list[Example]:
    conversations = read_conversations(data)
    with filled_memory(settings, conversations, on_progress) as memory:
        on_progress(f"asking {len(conversations.questions)} questions")
        asked = [(question, evidence_of(question, memory.stream)) for question in conversations.questions]
        asked = [(question, evidence) for question, evidence in asked if evidence]
        questions = [
            _example(memory, data.name, question.text, f"{data.name} {question.conversation}", 1 / len(asked), evidence)
            for question, evidence in asked
        ]
        on_progress("sending messages that need no memory")
        return questions + list(_ordinary(memory, data.name))


def _ordinary(memory: FilledMemory, data: str) -> Iterator[Example]:
    english = [text for texts in MESSAGES["en"].values() for text in texts]
    others = [text for name, kinds in MESSAGES.items() if name != "en" for texts in kinds.values() for text in texts]
    for texts, share in ((english, _SHARE_OF_ENGLISH), (others, 1 - _SHARE_OF_ENGLISH)):
        for text in texts:
            yield _example(memory, data, text, f"message {text}", share / len(texts), {})


def _example(
    memory: FilledMemory, data: str, text: str, group: str, weight: float, evidence: Mapping[str, int]
) -> Example:
    hits, likeness = memory.search.recollect(text, limit=FOUND_AT_MOST)
    keys = frozenset(key for turn in evidence.values() for key in memory.stream.chunks_of_turn[turn])
    return Example(data, group, bool(evidence), weight, hits, likeness, keys, memory.stream.tokens_of(keys))


def _needs(example: Example, model: NeedModel) -> dict[ChunkKey, float]:
    return needs_of(example.hits, example.likeness, (), model)


def _worth(judged: Sequence[tuple[Example, dict[ChunkKey, float]]], floor: float) -> dict[str, float]:
    """What returns within the budget, best first: evidence in percent, and tokens."""
    returned = [(one, _returned(one, needs, floor)) for one, needs in judged]
    for_questions = [(one, hits) for one, hits in returned if one.is_question]
    for_nothing = [_tokens(hits) for one, hits in returned if not one.is_question]
    evidence = [
        _tokens(hit for hit in hits if hit.chunk.key in one.evidence) / one.evidence_tokens
        for one, hits in for_questions
    ]
    return {
        f"evidence_at_{BUDGET}": 100 * float(np.mean(evidence)),
        "tokens_for_questions": float(np.mean([_tokens(hits) for _, hits in for_questions])),
        "tokens_for_nothing": float(np.mean(for_nothing)),
        "silent_share": float(np.mean([tokens == 0 for tokens in for_nothing])),
    }


def _tokens(hits: Iterable[Hit]) -> int:
    return sum(hit.chunk.token_count for hit in hits)


def _returned(example: Example, needs: Mapping[ChunkKey, float], floor: float) -> list[Hit]:
    chosen: list[Hit] = []
    room = BUDGET
    for hit in example.hits:
        if needs[hit.chunk.key] >= floor and hit.chunk.token_count <= room:
            chosen.append(hit)
            room -= hit.chunk.token_count
    return chosen


def _folds(examples: Sequence[Example]) -> dict[str, int]:
    """Deal out the conversations and the messages that need nothing, so that every fold has some of both."""
    chance = np.random.default_rng(1)
    chats = sorted({one.group for one in examples if one.is_question})
    messages = sorted({one.group for one in examples if not one.is_question})
    folds = min(_FOLDS, len(chats))
    if folds < 2:
        raise InputError("The data need questions about at least two conversations.")
    dealt = [chance.permutation(groups).tolist() for groups in (chats, messages)]
    return {group: place % folds for groups in dealt for place, group in enumerate(groups)}
