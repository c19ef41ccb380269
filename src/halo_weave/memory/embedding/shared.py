"""One embedder for whoever asks a question and for the chunks that are embedded in the background.

A question goes first. Chunks are embedded in parts of bounded work, and no part begins while a question is being
embedded, so that a question waits for the part under way at most.
"""

import threading
from collections.abc import Iterator, Sequence

import numpy as np

from halo_weave.memory.embedders.embedder import Embedder
from halo_weave.memory.vectors.unit import Vectors

_PART_TEXTS = 8
_PART_TOKENS = 256
_LONGEST_WAIT_S = 5.0
"""A question that hangs, at a server that is away, must not hold up the chunks for ever."""


class SharedEmbedder:
    """An embedder for questions; `in_background` is the same one for chunks. May be used from several threads if the
    embedder may."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.name = embedder.name
        self.dimensions = embedder.dimensions
        self.max_tokens = embedder.max_tokens
        self._questions = 0
        self._changed = threading.Condition()
        self.in_background: Embedder = _InBackground(self)

    def embed(self, texts: Sequence[str]) -> Vectors:
        with self._changed:
            self._questions += 1
        try:
            return self._embedder.embed(texts)
        finally:
            with self._changed:
                self._questions -= 1
                self._changed.notify_all()

    @property
    def has_question(self) -> bool:
        """Whether a question is being embedded, or waits to be."""
        return self._questions > 0

    def embed_part(self, texts: Sequence[str]) -> Vectors:
        """After the questions under way."""
        with self._changed:
            self._changed.wait_for(lambda: not self.has_question, _LONGEST_WAIT_S)
        return self._embedder.embed(texts)

    def count_tokens(self, text: str) -> int:
        return self._embedder.count_tokens(text)

    def close(self) -> None:
        self._embedder.close()


class _InBackground:
    def __init__(self, shared: SharedEmbedder) -> None:
        self._shared = shared
        self.name = shared.name
        self.dimensions = shared.dimensions
        self.max_tokens = shared.max_tokens

    def embed(self, texts: Sequence[str]) -> Vectors:
        vectors = [self._shared.embed_part(part) for part in self._parts(texts)]
        return np.concatenate(vectors) if vectors else np.empty((0, self.dimensions), dtype=np.float32)

    def count_tokens(self, text: str) -> int:
        return self._shared.count_tokens(text)

    def close(self) -> None:
        self._shared.close()

    def _parts(self, texts: Sequence[str]) -> Iterator[list[str]]:
        part: list[str] = []
        room = _PART_TOKENS
        for text in texts:
            tokens = min(self.count_tokens(text), self.max_tokens)
            if part and (tokens > room or len(part) == _PART_TEXTS):
                yield part
                part, room = [], _PART_TOKENS
            part.append(text)
            room -= tokens
        if part:
            yield part
