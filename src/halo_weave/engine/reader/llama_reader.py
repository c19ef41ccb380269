"""Reads text and questions with the lower layers of a language model and returns what its looking head computes.

The text is read in blocks, each with the end of the block before it, so that a word's key reflects what was said
before. Questions have a context of their own, so that they never wait for a block.
"""

import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from halo_weave.engine.llamacpp.computation import BATCH_TOKENS, MAIN, Computation
from halo_weave.engine.llamacpp.library import default_threads, load_library
from halo_weave.engine.llamacpp.model import Model
from halo_weave.engine.llamacpp.projections import Projected, Projection, ProjectionTap
from halo_weave.engine.reader.cut_model import write_lower_layers
from halo_weave.engine.reader.looking_head import BUNDLED_HEAD, LookingHead
from halo_weave.engine.reader.protocol import CONTEXT_TOKENS, Keys, Look
from halo_weave.errors import EngineUnavailable
from halo_weave.system.derived_file import find_derived, make_derived

LoadingNotice = Callable[[str], None]

_BLOCK_TOKENS = 768
_LONGEST_QUESTION = 512
_WORDS_USED = 8
"""Only the words of a question with the strongest queries count: the others look at nothing in particular."""
_EMPTY_QUESTION = "N/A"
_OPENING, _ENDING = "<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n"
_LARGEST = 127
"""The stored value that stands for the looking head's `largest_key`."""
_FORMAT_VERSION = 1


class LlamaReader:
    """A reader on llama.cpp. Thread-safe."""

    def __init__(self, path: Path, name: str, head: LookingHead) -> None:
        """`path` is a model whose last layer is the looking head's."""
        self.name = name
        self._lock, self._question_lock = threading.Lock(), threading.Lock()
        self._is_closed = False
        with ExitStack() as opened:
            self._model = Model(load_library(), path, gpu_layers=0)
            opened.callback(self._model.close)
            self._size = self._model.embedding_size // self._model.heads
            self._scale = head.largest_key / _LARGEST
            self._opening, self._ending = (self._ids(text, special=True) for text in (_OPENING, _ENDING))
            self._newline = self._ids("\n")
            cells = len(self._opening) + CONTEXT_TOKENS + _BLOCK_TOKENS
            self._text = _HeadComputation(self._model, head, cells=cells, threads=reading_threads())
            opened.callback(self._text.close)
            self._question = _HeadComputation(self._model, head, cells=2 * _LONGEST_QUESTION, threads=default_threads())
            opened.callback(self._question.close)
            self._empty = self._raw_queries(self._ids(_EMPTY_QUESTION), with_ending=True).mean(axis=0)
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
            tokens = self._model.vocabulary.tokenize(question)[-_LONGEST_QUESTION // 2 :]
            if not tokens:
                return Look((), np.empty((0, self._size), dtype=np.float32), np.empty(0, dtype=np.float32))
            found = self._raw_queries([token.id for token in tokens], with_ending=False) - self._empty
        strengths = np.einsum("ij,ij->i", found, found)
        chosen = np.sort(np.argsort(-strengths, kind="stable")[:_WORDS_USED])
        weights = strengths[chosen] / max(float(strengths[chosen].sum()), 1e-9)
        scale = self._scale / np.sqrt(self._size)
        return Look(
            tuple(tokens[place].text for place in chosen),
            (found[chosen] * scale).astype(np.float32),
            weights.astype(np.float32),
        )

    def close(self) -> None:
        with self._lock, self._question_lock:
            if not self._is_closed:
                self._is_closed = True
                self._opened.close()

    def _keys(self, flat: list[int], skipped: int) -> Keys:
        """Keys of all tokens but the first `skipped`, block by block."""
        parts = []
        for start in range(skipped, len(flat), _BLOCK_TOKENS):
            before = min(CONTEXT_TOKENS, start)
            block = [*self._opening, *flat[start - before : start + _BLOCK_TOKENS]]
            with self._lock:
                self._require_open()
                found = self._text.run(block, "keys")[len(self._opening) + before :]
            parts.append(np.clip(np.rint(found / self._scale), -_LARGEST, _LARGEST).astype(np.int8))
        return np.concatenate(parts) if parts else np.empty((0, self._size), dtype=np.int8)

    def _raw_queries(self, ids: list[int], *, with_ending: bool) -> Projected:
        found = self._question.run([*self._opening, *ids, *self._ending], "queries")[len(self._opening) :]
        return found if with_ending else found[: len(ids)]

    def _ids(self, text: str, *, special: bool = False) -> list[int]:
        return self._model.vocabulary.ids(text, special=special)

    def _require_open(self) -> None:
        if self._is_closed:
            raise EngineUnavailable("The reader has been closed.")


def reading_threads() -> int:
    """Half of the cores: reading goes on in the background, beside the chat."""
    return max(1, default_threads() // 2)


class _HeadComputation:
    """A context that returns the keys or queries of the looking head."""

    def __init__(self, model: Model, head: LookingHead, *, cells: int, threads: int) -> None:
        self._tap = ProjectionTap(model, (head.layer,))
        self._computation = Computation(model, cells=cells, threads=threads, tap=self._tap, flash_attention=True)
        self._head = head
        size, group = model.embedding_size // model.heads, model.heads // model.kv_heads
        self._columns = {
            "keys": slice(head.head // group * size, (head.head // group + 1) * size),
            "queries": slice(head.head * size, (head.head + 1) * size),
        }

    def run(self, ids: Sequence[int], wanted: Projection) -> Projected:
        self._tap.wanted = wanted
        self._computation.clear()
        parts = []
        for start in range(0, len(ids), BATCH_TOKENS):
            self._computation.decode(ids[start : start + BATCH_TOKENS], start, MAIN)
            parts.append(self._tap.layer(self._head.layer)[:, self._columns[wanted]])
        return np.concatenate(parts)

    def close(self) -> None:
        self._computation.close()


def open_bundled_reader(source: Path, cache: Path, on_progress: LoadingNotice | None = None) -> LlamaReader:
    """Open the reader made from the bundled model; writes its file into `cache` if no intact one is there."""
    layers = BUNDLED_HEAD.layer + 1
    name = f"{source.stem.lower()}.{layers}-layers.v{_FORMAT_VERSION}"
    path = find_derived(cache, name)
    if path is None:
        if on_progress is not None:
            on_progress("Preparing the reader (once, a few seconds) …")
        try:
            path = make_derived(cache, name, lambda target: write_lower_layers(source, target, layers))
        except (OSError, KeyError, ValueError) as error:
            raise EngineUnavailable(f"The reader could not be prepared in {cache}: {error}.") from error
    return LlamaReader(path, f"{path.stem}:{BUNDLED_HEAD.layer}.{BUNDLED_HEAD.head}", BUNDLED_HEAD)
