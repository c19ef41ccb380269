"""Finds out how well each attention head of a model alone answers a quiz.

The questions are read first. Then the passages are read block by block, as the reader reads, and each block is compared
with all questions at once, so that the keys of all heads are never in memory together.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from halo_weave.engine.llamacpp.library import default_threads, load_library
from halo_weave.engine.llamacpp.model import Model
from halo_weave.engine.llamacpp.projections import Projection
from halo_weave.engine.reader.head_ranking import RankedHead, reciprocal_ranks
from halo_weave.engine.reader.layer_computation import LayerComputation
from halo_weave.engine.reader.llama_reader import BLOCK_TOKENS, EMPTY_QUESTION
from halo_weave.engine.reader.looking_head import LookingHead
from halo_weave.engine.reader.protocol import CONTEXT_TOKENS
from halo_weave.engine.reader.quiz import Quiz
from halo_weave.engine.reader.reading_frame import ReadingFrame
from halo_weave.engine.reader.similarity import WORDS_USED, Floats, largest_in_passages, words_that_count

_LONGEST_QUESTION = 256
_QUESTIONS_PER_NOTICE = 20
ProbeProgress = Callable[[str], None]


def rank_heads(
    path: Path, frame: ReadingFrame, quiz: Quiz, on_progress: ProbeProgress = lambda _: None
) -> list[RankedHead]:
    """Return all heads of a model whose keys and queries can be read, best first. Raises EngineError if it cannot run.

    The model must read a text token by token.
    """
    with ExitStack() as opened:
        model = Model(load_library(), path, gpu_layers=0)
        opened.callback(model.close)
        quizzed = _QuizzedModel(model, frame)
        opened.callback(quizzed.close)
        quizzed.ask([question.text for question in quiz.questions], on_progress)
        quizzed.read(quiz.passages, on_progress)
        return quizzed.ranked([question.answers for question in quiz.questions])


class _LayerQuiz:
    """What one layer does with the quiz: the queries of all questions, and how strongly each head looks at passages.

    `queries` are [heads, questions, words, size] and `weights` those of the words; missing words have weight 0.
    """

    def __init__(self, heads: int, questions: int, size: int) -> None:
        self._queries = np.zeros((heads, questions, WORDS_USED, size), dtype=np.float32)
        self._weights = np.zeros((heads, questions, WORDS_USED), dtype=np.float32)
        self._attention: list[Floats] = []
        self._keys = 0
        self._key_sums = self._key_squares = np.zeros(())

    def add_question(self, number: int, found: Floats) -> None:
        """Add a question's calibrated queries: [words, heads, size]."""
        for head in range(found.shape[1]):
            places, weights = words_that_count(found[:, head])
            self._queries[head, number, : len(places)] = found[places, head]
            self._weights[head, number, : len(places)] = weights

    def add_passages(self, keys: Floats, starts: NDArray[np.intp]) -> None:
        """Add passages that follow each other; `keys` are [tokens, key heads, size]."""
        heads, questions, words, size = self._queries.shape
        attention = np.empty((heads, questions, len(starts)), dtype=np.float32)
        for head in range(heads):
            own = keys[:, head * keys.shape[1] // heads]
            largest = largest_in_passages(self._queries[head].reshape(-1, size), own, starts)
            attention[head] = np.einsum("qwp,qw->qp", largest.reshape(questions, words, -1), self._weights[head])
        self._attention.append(attention)
        self._keys += len(keys)
        self._key_sums = self._key_sums + keys.sum(axis=0, dtype=np.float64)
        self._key_squares = self._key_squares + np.square(keys, dtype=np.float64).sum(axis=0)

    def ranked(self, layer: int, answers: Sequence[frozenset[int]]) -> Iterator[RankedHead]:
        if not self._attention:
            return
        attention = np.concatenate(self._attention, axis=2)
        means = self._key_sums / self._keys
        deviations = np.sqrt(np.maximum(self._key_squares / self._keys - means**2, 0)).mean(axis=1)
        for head, own in enumerate(attention):
            key_head = head * len(means) // len(attention)
            mean = tuple(round(value, 2) for value in means[key_head].tolist())
            found = LookingHead(layer, head, key_head, mean, key_deviation=float(f"{deviations[key_head]:.3g}"))
            yield RankedHead(found, float(reciprocal_ranks(own, answers).mean()))


class _QuizzedModel:
    """Call `ask`, then `read`, then `ranked`."""

    def __init__(self, model: Model, frame: ReadingFrame) -> None:
        self._model = model
        self._opening, self._ending = (self._ids(text, special=True) for text in (frame.opening, frame.ending))
        cells = len(self._opening) + len(self._ending) + CONTEXT_TOKENS + 2 * BLOCK_TOKENS
        self._computation = LayerComputation(
            model, range(model.layers), cells=cells, threads=default_threads(), skips_missing=True
        )
        self._layers: dict[int, _LayerQuiz] = {}

    def ask(self, questions: Sequence[str], on_progress: ProbeProgress) -> None:
        empty = {layer: own.mean(axis=0) for layer, own in self._queries(EMPTY_QUESTION, with_ending=True).items()}
        for number, question in enumerate(questions):
            if number % _QUESTIONS_PER_NOTICE == 0:
                on_progress(f"reading question {number} of {len(questions)}")
            for layer, found in self._queries(question, with_ending=False).items():
                if layer not in self._layers:
                    self._layers[layer] = _LayerQuiz(found.shape[1], len(questions), found.shape[2])
                self._layers[layer].add_question(number, found - empty[layer])

    def read(self, passages: Sequence[str], on_progress: ProbeProgress) -> None:
        newline = self._ids("\n")
        before: list[int] = []
        done = 0
        for block in _blocks([(self._ids(text) or newline)[:BLOCK_TOKENS] for text in passages]):
            on_progress(f"reading passage {done} of {len(passages)}")
            lengths = np.array([len(tokens) for tokens in block])
            flat = [token for tokens in block for token in (*tokens, *newline)]
            is_end = np.concatenate([np.arange(length + len(newline)) >= length for length in lengths])
            for layer, found in self._run([*before, *flat], "keys").items():
                if layer in self._layers:
                    keys = found[len(before) :][~is_end]
                    self._layers[layer].add_passages(keys, np.cumsum(lengths) - lengths)
            before = [*before, *flat][-CONTEXT_TOKENS:]
            done += len(block)

    def ranked(self, answers: Sequence[frozenset[int]]) -> list[RankedHead]:
        found = [one for layer, quiz in self._layers.items() for one in quiz.ranked(layer, answers)]
        return sorted(found, key=lambda one: (-one.reciprocal_rank, one.head.layer, one.head.head))

    def close(self) -> None:
        self._computation.close()

    def _queries(self, question: str, *, with_ending: bool) -> dict[int, Floats]:
        ids = self._ids(question)[-_LONGEST_QUESTION:]
        found = self._run([*ids, *self._ending], "queries")
        return found if with_ending else {layer: own[: len(ids)] for layer, own in found.items()}

    def _run(self, ids: Sequence[int], wanted: Projection) -> dict[int, Floats]:
        """Return the projections of the tokens by layer: [tokens, heads, size]."""
        size = self._model.head_size
        return {
            layer: own[len(self._opening) :].reshape(len(ids), -1, size)
            for layer, own in self._computation.run([*self._opening, *ids], wanted).items()
            if size and own.shape[1] % size == 0
        }

    def _ids(self, text: str, *, special: bool = False) -> list[int]:
        return self._model.vocabulary.ids(text, special=special)


def _blocks(passages: Sequence[list[int]]) -> Iterator[list[list[int]]]:
    """Group passages, given by their tokens, into blocks of at most `BLOCK_TOKENS`, not counting the ends of lines."""
    block: list[list[int]] = []
    for tokens in passages:
        if block and sum(map(len, block)) + len(tokens) > BLOCK_TOKENS:
            yield block
            block = []
        block.append(tokens)
    if block:
        yield block
