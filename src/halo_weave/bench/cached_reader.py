"""A reader that caches keys on disk across runs."""

import hashlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from halo_weave.engine.reader.protocol import Keys, Look, Reader


class CachedReader:
    def __init__(self, reader: Reader, path: Path) -> None:
        self._reader = reader
        self.name, self.key_values = reader.name, reader.key_values
        path.parent.mkdir(parents=True, exist_ok=True)
        self._cache = sqlite3.connect(path, isolation_level=None, timeout=60)
        self._cache.execute("PRAGMA synchronous = OFF")
        self._cache.execute("CREATE TABLE IF NOT EXISTS keys (key BLOB PRIMARY KEY, keys BLOB) WITHOUT ROWID")

    def read(self, texts: Sequence[str], before: str = "") -> list[Keys]:
        """Look the texts up together, because the keys of one depend on those before it."""
        names = [
            hashlib.sha256("\0".join([self.name, before, *texts, str(n)]).encode()).digest() for n in range(len(texts))
        ]
        found = [self._known(name) for name in names]
        known = [keys for keys in found if keys is not None]
        if len(known) == len(texts):
            return known
        read = self._reader.read(texts, before)
        rows = [(name, keys.tobytes()) for name, keys in zip(names, read, strict=True)]
        self._cache.executemany("INSERT OR REPLACE INTO keys VALUES (?, ?)", rows)
        return read

    def look(self, question: str) -> Look:
        return self._reader.look(question)

    def pieces(self, text: str) -> list[str]:
        return self._reader.pieces(text)

    def close(self) -> None:
        self._cache.close()
        self._reader.close()

    def _known(self, name: bytes) -> Keys | None:
        row = self._cache.execute("SELECT keys FROM keys WHERE key = ?", (name,)).fetchone()
        return None if row is None else np.frombuffer(row[0], dtype=np.int8).reshape(-1, self.key_values)
