"""One embedder shared by questions and by background embedding of chunks.

Questions go first. Chunks are embedded in small parts, and no part starts while a question is being embedded. A
question therefore waits for one part at most.
"""

import threading
from collections.abc import Iterator, Sequence

import numpy as np

from halo_weave.memory.embedders.embedder import Embedder
from halo_weave.memory.vectors.unit import Vectors

_PART_TEXTS = 8
_PART_TOKENS = 256
_LONGEST_WAIT_S = 5.0
"""A question that hangs on an unreachable server must not block the chunks forever."""


class SharedEmbedder:
    """An embedder for questions; `in_background` is the same embedder for chunks.

    Thread-safe if the embedder is.
    """

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
        """Whether a question is being embedded or waiting."""
        return self._questions > 0

    def embed_part(self, texts: Sequence[str]) -> Vectors:
        """Embed a part once no question is under way, or after `_LONGEST_WAIT_S`."""
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
