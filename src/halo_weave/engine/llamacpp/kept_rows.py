"""Kept rows: the model's state of text removed from a context, so that the text can return without being decoded again.

This is a bounded LRU cache; the text itself is stored elsewhere, permanently. Rows belong to the context that computed
them. They are looked up by position and token id, not by their place among other tokens.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from halo_weave.engine.protocol import Placed

Blob = NDArray[np.uint8]


class Rows(NamedTuple):
    """The saved state of a run of tokens. `order` maps each saved cell to the index of its token in the run."""

    tokens: tuple[Placed, ...]
    first_place: int
    order: NDArray[np.int64]
    blob: Blob


class FoundRows(NamedTuple):
    """`length` wanted tokens found in `rows`, starting at index `offset`; `key` identifies the rows in the cache."""

    key: int
    rows: Rows
    offset: int
    length: int


class KeptRows:
    def __init__(self, limit_bytes: int) -> None:
        self._limit = limit_bytes
        self._lock = threading.Lock()
        self._entries: OrderedDict[int, _Entry] = OrderedDict()
        self._index: dict[tuple[int, Placed], int] = {}
        self._next_key = 0

    @property
    def is_off(self) -> bool:
        return self._limit == 0

    @property
    def memory_bytes(self) -> int:
        return sum(entry.rows.blob.nbytes for entry in self._entries.values())

    def keep(self, owner: int, rows: Rows) -> None:
        if rows.blob.nbytes > self._limit:
            return
        with self._lock:
            key = self._next_key
            self._next_key += 1
            self._entries[key] = _Entry(owner, rows)
            for token in rows.tokens:
                self._index[owner, token] = key
            self._make_room()

    def find(self, owner: int, tokens: Sequence[Placed], start: int, end: int) -> FoundRows | None:
        """Find rows for the longest possible run of `tokens[start:end]` that begins at `start`."""
        with self._lock:
            key = self._index.get((owner, tokens[start]))
            if key is None:
                return None
            entry = self._entries[key]
            self._entries.move_to_end(key)
            kept = entry.rows.tokens
            offset = kept.index(tokens[start])
            length = 1
            while (
                start + length < end and offset + length < len(kept) and kept[offset + length] == tokens[start + length]
            ):
                length += 1
            return FoundRows(key, entry.rows, offset, length)

    def has(self, owner: int, token: Placed) -> bool:
        with self._lock:
            return (owner, token) in self._index

    def drop(self, key: int) -> None:
        """Remove rows that are back in their context or cannot be used."""
        with self._lock:
            if key in self._entries:
                self._remove(key)

    def forget(self, owner: int) -> None:
        """Remove all rows of a context."""
        with self._lock:
            for key in [key for key, entry in self._entries.items() if entry.owner == owner]:
                self._remove(key)

    def _make_room(self) -> None:
        while self.memory_bytes > self._limit:
            self._remove(next(iter(self._entries)))

    def _remove(self, key: int) -> None:
        entry = self._entries.pop(key)
        for token in entry.rows.tokens:
            if self._index.get((entry.owner, token)) == key:
                del self._index[entry.owner, token]


class _Entry(NamedTuple):
    owner: int
    rows: Rows
