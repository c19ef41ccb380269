"""Reads text and questions with the lower layers of a language model and returns what its looking head computes.

The text is read in blocks, each with the end of the block before it, so that a word's key reflects what was said
before. Questions have a context of their own, so that they never wait for a block.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from halo_weave.engine.llamacpp.library import default_threads, load_library
from halo_weave.engine.llamacpp.model import Model
from halo_weave.engine.llamacpp.projections import Projected
from halo_weave.engine.reader.bundled_head import BUNDLED_HEAD
from halo_weave.engine.reader.cut_model import write_lower_layers
from halo_weave.engine.reader.layer_computation import LayerComputation
from halo_weave.engine.reader.looking_head import LookingHead
from halo_weave.engine.reader.protocol import CONTEXT_TOKENS, LARGEST_VALUE, SMALLEST_VALUE, Keys, Look
from halo_weave.engine.reader.reading_frame import BUNDLED_FRAME, ReadingFrame
from halo_weave.engine.reader.similarity import words_that_count
from halo_weave.errors import EngineUnavailable
from halo_weave.system.derived_file import find_derived, make_derived

LoadingNotice = Callable[[str], None]

BLOCK_TOKENS = 768
_LONGEST_QUESTION = 256
EMPTY_QUESTION = "N/A"
"""What every question looks at is what this one looks at."""
_DEVIATIONS = 3.5
"""A value of a key that is further from its mean, in standard deviations, is stored as if it were this far."""
_FILE_VERSION = 1
_KEYS_VERSION = 2
"""Raise it when keys are made in another way: texts are read again."""


class LlamaReader:
    """A reader on llama.cpp. Thread-safe."""

    def __init__(self, path: Path, name: str, head: LookingHead, frame: ReadingFrame) -> None:
        """`path` is a model whose last layer is the looking head's."""
        self.name = name
        self.tokens_read = 0
        """Tokens of texts that were read so far. Those read again, as the text before others, count each time."""
        self._head = head
        self._lock, self._question_lock = threading.Lock(), threading.Lock()
        self._is_closed = False
        with ExitStack() as opened:
            self._model = Model(load_library(), path, gpu_layers=0)
            opened.callback(self._model.close)
            self._size = self._model.head_size
            self._mean = np.array(head.key_mean, dtype=np.float32)
            self._step = _DEVIATIONS * head.key_deviation / -SMALLEST_VALUE
            self._opening, self._ending = (self._ids(text, special=True) for text in (frame.opening, frame.ending))
            self._newline = self._ids("\n")
            framed = len(self._opening) + len(self._ending)
            self._text = self._computation(framed + CONTEXT_TOKENS + BLOCK_TOKENS, reading_threads())
            opened.callback(self._text.close)
            self._question = self._computation(framed + _LONGEST_QUESTION, default_threads())
            opened.callback(self._question.close)
            self._empty = self._raw_queries(self._ids(EMPTY_QUESTION), with_ending=True).mean(axis=0)
            self._opened = opened.pop_all()

    @property
    def key_values(self) -> int:
        return self._size

    def read(self, texts: Sequence[str], before: str = "") -> list[Keys]:
        with self._lock:
            self._require_open()
            tokens = [self._ids(text) for text in texts]
            context = self._ids(before)[-CONTEXT_TOKENS:]
        flat, firsts = list(context), []
        for text, own in zip(texts, tokens, strict=True):
            if flat and not text.startswith("\n"):
                flat += self._newline
            firsts.append(len(flat))
            flat += own
        keys = self._keys(flat, len(context))
        starts = [first - len(context) for first in firsts]
        return [keys[start : start + len(own)] for start, own in zip(starts, tokens, strict=True)]

    def pieces(self, text: str) -> list[str]:
        with self._question_lock:
            self._require_open()
            return [token.text for token in self._model.vocabulary.tokenize(text)]

    def look(self, question: str) -> Look:
        """Return what a question looks for. Of a long question, only the end counts."""
        with self._question_lock:
            self._require_open()
            tokens = self._model.vocabulary.tokenize(question)[-_LONGEST_QUESTION:]
            if not tokens:
                return Look((), np.empty((0, self._size), dtype=np.float32), np.empty(0, dtype=np.float32))
            found = self._raw_queries([token.id for token in tokens], with_ending=False) - self._empty
        chosen, weights = words_that_count(found)
        scale = self._step / np.sqrt(self._size)
        return Look(tuple(tokens[place].text for place in chosen), (found[chosen] * scale).astype(np.float32), weights)

    def close(self) -> None:
        with self._lock, self._question_lock:
            if not self._is_closed:
                self._is_closed = True
                self._opened.close()

    def _keys(self, flat: list[int], skipped: int) -> Keys:
        """Keys of all tokens but the first `skipped`, block by block."""
        parts = []
        for start in range(skipped, len(flat), BLOCK_TOKENS):
            before = min(CONTEXT_TOKENS, start)
            block = [*self._opening, *flat[start - before : start + BLOCK_TOKENS]]
            with self._lock:
                self._require_open()
                self.tokens_read += len(block)
                found = self._head_of(self._text.run(block, "keys"), self._head.key_head)[len(self._opening) + before :]
            steps = np.floor((found - self._mean) / self._step)
            parts.append(np.clip(steps, SMALLEST_VALUE, LARGEST_VALUE).astype(np.int8))
        return np.concatenate(parts) if parts else np.empty((0, self._size), dtype=np.int8)

    def _raw_queries(self, ids: list[int], *, with_ending: bool) -> Projected:
        run = self._question.run([*self._opening, *ids, *self._ending], "queries")
        found = self._head_of(run, self._head.head)[len(self._opening) :]
        return found if with_ending else found[: len(ids)]

    def _head_of(self, found: Mapping[int, Projected], head: int) -> Projected:
        return found[self._head.layer][:, head * self._size : (head + 1) * self._size]

    def _computation(self, cells: int, threads: int) -> LayerComputation:
        return LayerComputation(self._model, (self._head.layer,), cells=cells, threads=threads)

    def _ids(self, text: str, *, special: bool = False) -> list[int]:
        return self._model.vocabulary.ids(text, special=special)

    def _require_open(self) -> None:
        if self._is_closed:
            raise EngineUnavailable("The reader has been closed.")


def reading_threads() -> int:
    """Half of the cores: reading goes on in the background, beside the chat."""
    return max(1, default_threads() // 2)


def open_bundled_reader(source: Path, cache: Path, on_progress: LoadingNotice | None = None) -> LlamaReader:
    """Open the reader made from the bundled model; writes its file into `cache` if no intact one is there."""
    layers = BUNDLED_HEAD.layer + 1
    name = f"{source.stem.lower()}.{layers}-layers.v{_FILE_VERSION}"
    path = find_derived(cache, name)
    if path is None:
        if on_progress is not None:
            on_progress("Preparing the reader (once, a few seconds) …")
        try:
            path = make_derived(cache, name, lambda target: write_lower_layers(source, target, layers))
        except (OSError, KeyError, ValueError) as error:
            raise EngineUnavailable(f"The reader could not be prepared in {cache}: {error}.") from error
    return LlamaReader(path, f"{path.stem}:{BUNDLED_HEAD}:v{_KEYS_VERSION}", BUNDLED_HEAD, BUNDLED_FRAME)
