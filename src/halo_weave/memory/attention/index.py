"""The attention index of one store: the reader, opened on first use, and the keys that it made."""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from halo_weave.engine.reader.protocol import Look, Reader
from halo_weave.errors import EngineError
from halo_weave.memory.attention import looking
from halo_weave.memory.attention.looking import Attention
from halo_weave.memory.attention.reading import KeyIndexer
from halo_weave.memory.background_priority import give_way
from halo_weave.memory.store.protocol import Store
from halo_weave.records.chunks import Span

OpenReader = Callable[[Callable[[], bool]], Reader]
"""Opens the reader. It takes a function that says whether to give up, because the first time can take minutes."""


class AttentionIndex:
    """Thread-safe. `on_problem` receives a sentence when the reader does not work; search then does without it."""

    def __init__(self, store: Store, open_reader: OpenReader, on_problem: Callable[[str], None]) -> None:
        self._store = store
        self._open_reader = open_reader
        self._on_problem = on_problem
        self._lock = threading.Lock()
        self._is_stopped = threading.Event()
        self._reader: Reader | None = None
        self._latest: tuple[str, Look] | None = None

    def read(self, ids: Iterable[int]) -> int:
        """Read chunks at low priority and store their keys; returns how many. Raises EngineError."""
        give_way()
        return KeyIndexer(self._store, self._opened()).read(ids)

    def read_missing(
        self, on_progress: Callable[[int], None] = lambda _: None, is_stopped: Callable[[], bool] = lambda: False
    ) -> int:
        return KeyIndexer(self._store, self._opened()).read_missing(on_progress, is_stopped)

    def ids_without_keys(self, after: int, limit: int) -> list[int]:
        return self._store.ids_without_keys(self._opened().name, after, limit)

    def open(self) -> None:
        """Open the reader. Raises EngineError."""
        self._opened()

    def look(self, text: str) -> Look | None:
        """Return what a text looks for; None if the reader is not open yet or does not work: search never waits.

        The latest text is remembered: who has searched with it may ask for words of the hits.
        """
        reader, latest = self._reader, self._latest
        if reader is None:
            return None
        if latest is not None and latest[0] == text:
            return latest[1]
        try:
            look = reader.look(text)
        except EngineError as error:
            self._on_problem(f"Search without attention: {error}")
            return None
        self._latest = text, look
        return look

    def attention(self, look: Look, ids: Sequence[int]) -> Attention:
        """Return how strongly the question looks at each chunk; NaN for chunks that have not been read yet."""
        reader = self._opened()
        return looking.attention(look, self._store.keys_by_ids(reader.name, ids, reader.key_values), ids)

    def looked_at(self, question: str, texts: Mapping[int, str]) -> dict[int, tuple[Span, ...]]:
        """Return for each chunk, by id, the words that the question looks at; nothing of chunks without keys, and
        nothing at all if the reader is not open or does not work."""
        look = self.look(question) if texts else None
        if look is None:
            return {}
        try:
            reader = self._opened()
            keys = self._store.keys_by_ids(reader.name, list(texts), reader.key_values)
            return {one: tuple(looking.looked_at(look, keys[one], reader.pieces(texts[one]))) for one in keys}
        except EngineError as error:
            self._on_problem(f"Search without attention: {error}")
            return {}

    def shares(self, question: str, texts: Mapping[int, str]) -> dict[int, NDArray[np.float32]]:
        """Return for each chunk, by id, the share of the question's attention that each of its characters gets, out of
        all these chunks; nothing of chunks without keys, and nothing at all if the reader is not open or fails."""
        look = self.look(question) if texts else None
        if look is None:
            return {}
        try:
            reader = self._opened()
            keys = self._store.keys_by_ids(reader.name, list(texts), reader.key_values)
            pieces = {one: reader.pieces(texts[one]) for one in keys}
        except EngineError as error:
            self._on_problem(f"Search without attention: {error}")
            return {}
        whole = {one: own for one, own in keys.items() if len(own) == len(pieces[one])}
        return {
            one: _by_character(divided, pieces[one])
            for one, divided in looking.shares(look, whole).items()
            if "".join(pieces[one]) == texts[one]
        }

    def stop(self) -> None:
        """Give up opening the reader, if that is under way."""
        self._is_stopped.set()

    def close(self) -> None:
        self.stop()
        with self._lock, suppress(EngineError):
            if self._reader is not None:
                self._reader.close()

    def _opened(self) -> Reader:
        with self._lock:
            if self._reader is None:
                self._reader = self._open_reader(self._is_stopped.is_set)
            return self._reader


def _by_character(shares: NDArray[np.float32], pieces: Sequence[str]) -> NDArray[np.float32]:
    lengths = np.array([len(piece) for piece in pieces])
    return np.repeat(shares / np.maximum(1, lengths).astype(np.float32), lengths)
