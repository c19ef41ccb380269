"""Which attention heads of a model find what a question is about?

Every head of the model's lower half answers a quiz about made-up conversations, by itself. With a data file, it also
answers the questions about real conversations, each of which is a memory of its own. The figure is the mean reciprocal
rank of the passage with the answer.
"""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from halo_weave.bench.conversations import Conversations, by_conversation, read_conversations
from halo_weave.bench.progress import Progress
from halo_weave.config import Settings
from halo_weave.engine.llamacpp.library import load_library
from halo_weave.engine.llamacpp.model import Model
from halo_weave.engine.reader.bundled_head import BUNDLED_HEAD
from halo_weave.engine.reader.head_ranking import RankedHead, chosen_head
from halo_weave.engine.reader.lower_half import LowerHalf, lower_half
from halo_weave.engine.reader.made_up_quiz import made_up_quiz
from halo_weave.engine.reader.probe import rank_heads
from halo_weave.engine.reader.quiz import Quiz, QuizQuestion
from halo_weave.errors import InputError
from halo_weave.paths import bundled_model_path, cache_folder
from halo_weave.text.chunking import chunks_of

_LISTED = 10


def run(settings: Settings, data: Path | None, chats: int, on_progress: Progress = lambda _: None) -> dict[str, Any]:
    if settings.engine.kind != "llamacpp":
        raise InputError(f"The heads of a model can be read only in this process, not with {settings.engine.kind}.")
    path = Path(settings.engine.model).expanduser() if settings.engine.model else bundled_model_path()
    conversations = None if data is None else read_conversations(data)
    quiz = made_up_quiz()
    started = time.perf_counter()
    on_progress(f"writing the lower half of {path.name}")
    with lower_half(path, cache_folder()) as half:
        ranked = rank_heads(half.path, half.frame, quiz, on_progress)
        seconds = time.perf_counter() - started
        on_data = {} if conversations is None else rank_on_data(half, conversations, chats, on_progress)
    return figures(ranked, on_data) | {
        "model": path.name,
        "probe_s": seconds,
        "questions": len(quiz.questions),
        "passages": len(quiz.passages),
    }


def figures(ranked: Sequence[RankedHead], on_data: Mapping[str, float]) -> dict[str, Any]:
    """Combine what the heads found in the quiz, best first, with what they found in the data."""
    chosen = chosen_head(ranked)
    names = [str(one.head) for one in ranked]
    listed = dict.fromkeys([*names[:_LISTED], *sorted(on_data, key=lambda name: -on_data[name])[:_LISTED]])
    found: dict[str, Any] = {
        "chosen": str(chosen.head),
        "reciprocal_rank": chosen.reciprocal_rank,
        "key_mean": chosen.head.key_mean,
        "key_deviation": chosen.head.key_deviation,
        "rank_of_bundled_head": _rank(str(BUNDLED_HEAD), names),
        "heads": {
            name: {"made_up": ranked[names.index(name)].reciprocal_rank} | ({"data": on_data[name]} if on_data else {})
            for name in listed
        },
    }
    if on_data:
        best = sorted(on_data, key=lambda name: -on_data[name])
        found["rank_of_chosen_on_data"] = _rank(str(chosen.head), best)
        found["rank_correlation"] = _rank_correlation([(names.index(name), best.index(name)) for name in names])
    return found


def rank_on_data(half: LowerHalf, conversations: Conversations, chats: int, on_progress: Progress) -> dict[str, float]:
    """Return the mean reciprocal rank of each head over the questions about the first conversations."""
    sums: dict[str, float] = {}
    questions = 0
    for name in list(by_conversation(conversations.turns))[:chats]:
        quiz = quiz_about(name, conversations, half.path)
        if not quiz.questions:
            continue
        questions += len(quiz.questions)
        on_progress(f"{name}: {len(quiz.passages)} passages, {len(quiz.questions)} questions")
        for one in rank_heads(half.path, half.frame, quiz, on_progress):
            sums[str(one.head)] = sums.get(str(one.head), 0.0) + one.reciprocal_rank * len(quiz.questions)
    if not questions:
        raise InputError("The data has no questions with evidence in its first conversations.")
    return {name: total / questions for name, total in sums.items()}


def quiz_about(conversation: str, conversations: Conversations, model: Path) -> Quiz:
    """Make a quiz of a conversation: its chunks, and the questions whose evidence is among them."""
    vocabulary_model = Model(load_library(), model, vocabulary_only=True)
    passages: list[str] = []
    places: dict[str, set[int]] = {}
    try:
        for turn in by_conversation(conversations.turns)[conversation]:
            for part in chunks_of(vocabulary_model.vocabulary.tokenize(turn.said)):
                places.setdefault(turn.id, set()).add(len(passages))
                passages.append("".join(token.text for token in part))
    finally:
        vocabulary_model.close()
    asked = [
        QuizQuestion(question.text, frozenset().union(*(places.get(turn, set()) for turn in question.evidence)))
        for question in conversations.questions
        if question.conversation == conversation
    ]
    return Quiz(tuple(passages), tuple(question for question in asked if question.answers))


def _rank(name: str, names: Sequence[str]) -> int | None:
    return names.index(name) + 1 if name in names else None


def _rank_correlation(ranks: Sequence[tuple[int, int]]) -> float:
    first, second = np.array(ranks, dtype=np.float64).T
    return float(np.corrcoef(first, second)[0, 1])
