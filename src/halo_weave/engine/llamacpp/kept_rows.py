"""Kept rows: the model's state of text that left a context, so that it can return without being read again.

The store is bounded and forgets what was used least recently; the text itself is kept elsewhere, for ever. Rows belong
to the context that computed them and are found by position and token, not by where they stood among other tokens.
"""

import tempfile
import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halo_weave.engine.protocol import Placed

Blob = NDArray[np.uint8]
_MOST_FILES = 256


class Rows(NamedTuple):
    """The saved state of a run of tokens. `order` gives for each saved cell the index of its token in the run."""

    tokens: tuple[Placed, ...]
    first_place: int
    order: NDArray[np.int64]
    blob: Blob


class Found(NamedTuple):
    """`length` wanted tokens are in `rows`, from its token `offset` on; `key` names the rows in the store."""

    key: int
    rows: Rows
    offset: int
    length: int


class KeptRows:
    def __init__(self, limit_bytes: int, spill_folder: Path | None = None) -> None:
        """With a `spill_folder`, what memory cannot hold goes to unnamed files there, up to the same limit."""
        self._limit = limit_bytes
        self._spill_folder = spill_folder
        self._lock = threading.Lock()
        self._entries: OrderedDict[int, _Entry] = OrderedDict()
        self._index: dict[tuple[int, Placed], int] = {}
        self._next_key = 0

    @property
    def is_off(self) -> bool:
        return self._limit == 0

    @property
    def memory_bytes(self) -> int:
        return sum(entry.size for entry in self._entries.values() if entry.file is None)

    @property
    def disk_bytes(self) -> int:
        return sum(entry.size for entry in self._entries.values() if entry.file is not None)

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

    def find(self, owner: int, tokens: Sequence[Placed], start: int, end: int) -> Found | None:
        """Rows for as many tokens as possible of `tokens[start:end]`, beginning at `start`."""
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
            return Found(key, entry.load(), offset, length)

    def drop(self, key: int) -> None:
        """Forget rows, because they are back in their context or cannot be used."""
        with self._lock:
            if key in self._entries:
                self._remove(key)

    def forget(self, owner: int) -> None:
        """Forget everything that a context kept."""
        with self._lock:
            for key in [key for key, entry in self._entries.items() if entry.owner == owner]:
                self._remove(key)

    def _make_room(self) -> None:
        while self.memory_bytes > self._limit:
            key = next(key for key, entry in self._entries.items() if entry.file is None)
            if self._spill_folder is None or not self._entries[key].spill(self._spill_folder):
                self._remove(key)
        spilled = [key for key, entry in self._entries.items() if entry.file is not None]
        while spilled and (self.disk_bytes > self._limit or len(spilled) > _MOST_FILES):
            self._remove(spilled.pop(0))

    def _remove(self, key: int) -> None:
        entry = self._entries.pop(key)
        for token in entry.rows.tokens:
            if self._index.get((entry.owner, token)) == key:
                del self._index[entry.owner, token]
        entry.close()


class _Entry:
    def __init__(self, owner: int, rows: Rows) -> None:
        self.owner = owner
        self.rows = rows
        self.size = rows.blob.nbytes
        self.file: BinaryIO | None = None

    def spill(self, folder: Path) -> bool:
        """Move the state to a file that vanishes with the process; False if the disk does not take it."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            # The file outlives this function and is closed with the entry.
            file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115
        except OSError:
            return False
        try:
            file.write(self.rows.blob.data)
            file.flush()
        except OSError:
            file.close()
            return False
        self.file = file
        self.rows = self.rows._replace(blob=np.empty(0, dtype=np.uint8))
        return True

    def load(self) -> Rows:
        if self.file is None:
            return self.rows
        self.file.seek(0)
        return self.rows._replace(blob=np.frombuffer(self.file.read(), dtype=np.uint8))

    def close(self) -> None:
        if self.file is not None:
            self.file.close()
