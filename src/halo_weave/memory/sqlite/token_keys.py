"""The reader's keys of chunks in the SQLite memory: one row per chunk, for one reader. Each byte has two values."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from halo_weave.memory.sqlite.counters import read_counters, set_change
from halo_weave.memory.sqlite.database import Database
from halo_weave.memory.sqlite.rows import checksum, require_sound
from halo_weave.memory.sqlite.table import Table
from halo_weave.memory.sqlite.vectors import may_be_indexed

TokenKeys = NDArray[np.int8]
_OFFSET = 8
"""Added to a value, so that it is never negative."""


class SqliteTokenKeys:
    """The key methods of the store."""

    _database: Database

    def put_keys(
        self, reader: str, keys: Mapping[int, TokenKeys], *, as_of: int | None = None, read: Iterable[int] = ()
    ) -> list[int]:
        if not keys:
            return []
        with self._database.writing() as connection:
            if not all(may_be_indexed(connection, chunk_id, as_of) for chunk_id in read):
                return []
            kept = [chunk_id for chunk_id in keys if may_be_indexed(connection, chunk_id, as_of)]
            rows = [(chunk_id, reader, _packed(keys[chunk_id])) for chunk_id in kept]
            connection.executemany(
                "INSERT OR REPLACE INTO token_keys VALUES (?, ?, ?, ?)", ((*row, checksum(row)) for row in rows)
            )
            set_change(connection, read_counters(connection).change + 1)
        return kept

    def keys_by_ids(self, reader: str, ids: Sequence[int], values: int) -> dict[int, TokenKeys]:
        query = (
            "SELECT chunk, reader, keys, checksum FROM token_keys"
            " WHERE reader = ? AND chunk IN (SELECT value FROM json_each(?))"
        )
        with self._database.reading() as connection:
            rows = connection.execute(query, (reader, msgspec.json.encode(list(ids)).decode())).fetchall()
        sound = [row for row in rows if checksum(row[:3]) == row[3] and 2 * len(row[2]) % values == 0]
        unpacked = _unpacked(b"".join(row[2] for row in sound)).reshape(-1, values)
        ends = np.cumsum([2 * len(row[2]) // values for row in sound]).tolist()
        return {row[0]: unpacked[start:end] for row, start, end in zip(sound, [0, *ends], ends, strict=False)}

    def ids_without_keys(self, reader: str, after: int = 0, limit: int = 1000) -> list[int]:
        query = (
            "SELECT id FROM searchable WHERE id > ? AND NOT EXISTS"
            " (SELECT 1 FROM token_keys WHERE chunk = searchable.id AND reader = ?) ORDER BY id LIMIT ?"
        )
        with self._database.reading() as connection:
            return [chunk_id for (chunk_id,) in connection.execute(query, (after, reader, limit))]


def _packed(keys: TokenKeys) -> bytes:
    """Join each pair of values, the first of them in the lower half of the byte."""
    halves = (keys.reshape(-1, 2) + _OFFSET).astype(np.uint8)
    return (halves[:, 0] | halves[:, 1] << 4).tobytes()


def _unpacked(data: bytes) -> TokenKeys:
    pairs = np.frombuffer(data, dtype=np.uint8)
    values = np.empty((len(pairs), 2), dtype=np.int8)
    values[:, 0], values[:, 1] = pairs & 15, pairs >> 4
    values -= _OFFSET
    return values.reshape(-1)


def _require_sound_keys(row: tuple[Any, ...]) -> None:
    require_sound(row, f"the reader's keys of the chunk with id {row[0]} do not match their checksum")


TABLE = Table(
    "token_keys",
    ("chunk", "reader", "keys", "checksum"),
    _require_sound_keys,
    lambda row: f"the reader's keys of the chunk with id {row['chunk']}",
)
