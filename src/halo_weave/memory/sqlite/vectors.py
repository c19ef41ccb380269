"""Vectors in the SQLite memory: one per chunk and embedder. Each change has its own change number."""

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from halo_weave.errors import InputError
from halo_weave.memory.sqlite.rows import checksum, require_sound
from halo_weave.memory.sqlite.table import Table
from halo_weave.records.chunks import VectorChanges, VectorMatrix

StoredVector = NDArray[np.floating[Any]]
_TYPES = ("float16", "float32")


class KnownEmbedder(NamedTuple):
    id: int
    dimensions: int
    type: str

    def is_sound(self, chunk: int, change: int, vector: bytes | None, written: int) -> bool:
        return checksum((chunk, self.id, change, vector)) == written and (
            vector is None or len(vector) == self.dimensions * np.dtype(self.type).itemsize
        )

    def matrix(self, blobs: list[bytes]) -> VectorMatrix:
        flat = np.frombuffer(b"".join(blobs), dtype=np.dtype(self.type).newbyteorder("<"))
        return flat.reshape(len(blobs), self.dimensions).astype(self.type)


def known_embedder(connection: sqlite3.Connection, name: str) -> KnownEmbedder | None:
    found = connection.execute(f"SELECT {EMBEDDERS.listed} FROM embedders WHERE name = ?", (name,)).fetchone()
    return None if found is None else _sound_embedder(found)


def put(
    connection: sqlite3.Connection,
    embedder: str,
    vectors: Mapping[int, StoredVector],
    change: int,
    as_of: int | None,
) -> list[int]:
    """Store the vectors whose chunks may have one and return their ids; the n-th gets change number `change` + n."""
    known = _require_embedder(connection, embedder, vectors)
    kept = [chunk_id for chunk_id in vectors if may_be_indexed(connection, chunk_id, as_of)]
    rows = [
        (chunk_id, known.id, change + step, _blob(chunk_id, vectors[chunk_id], embedder, known))
        for step, chunk_id in enumerate(kept, start=1)
    ]
    connection.executemany(
        "INSERT INTO vectors (chunk, embedder, change, vector, checksum) VALUES (?, ?, ?, ?, ?)"
        " ON CONFLICT (chunk, embedder)"
        " DO UPDATE SET change = excluded.change, vector = excluded.vector, checksum = excluded.checksum",
        ((*row, checksum(row)) for row in rows),
    )
    return kept


def remove(connection: sqlite3.Connection, chunk: int, change: int) -> int:
    """Remove a chunk's vectors, numbering the changes from `change` + 1; returns the last number used."""
    query = "SELECT id, embedder FROM vectors WHERE chunk = ? AND vector IS NOT NULL"
    for row, embedder in connection.execute(query, (chunk,)).fetchall():
        change += 1
        connection.execute(
            "UPDATE vectors SET vector = NULL, change = ?, checksum = ? WHERE id = ?",
            (change, checksum((chunk, embedder, change, None)), row),
        )
    return change


def drop(connection: sqlite3.Connection, embedder: str, change: int) -> int:
    """Remove all vectors of an embedder, numbering the changes from `change` + 1; returns how many there were."""
    known = known_embedder(connection, embedder)
    if known is None:
        return 0
    return connection.execute(
        "UPDATE vectors SET vector = NULL, change = ?1 + numbered.place,"
        " checksum = row_checksum('----', chunk, embedder, ?1 + numbered.place, NULL) FROM"
        " (SELECT id, row_number() OVER (ORDER BY id) AS place FROM vectors WHERE embedder = ?2 AND vector IS NOT NULL)"
        " AS numbered WHERE vectors.id = numbered.id",
        (change, known.id),
    ).rowcount


def since(connection: sqlite3.Connection, embedder: str, change: int, limit: int) -> VectorChanges:
    known = known_embedder(connection, embedder)
    if known is None:
        return VectorChanges(change, _ids([]), np.empty((0, 0), dtype=np.float32), _ids([]))
    rows = connection.execute(
        "SELECT chunk, change, vector, checksum FROM vectors WHERE embedder = ? AND change > ? ORDER BY change LIMIT ?",
        (known.id, change, limit),
    ).fetchall()
    sound = [
        (chunk, vector) for chunk, number, vector, written in rows if known.is_sound(chunk, number, vector, written)
    ]
    present = [(chunk, vector) for chunk, vector in sound if vector is not None]
    return VectorChanges(
        change_number=rows[-1][1] if rows else change,
        ids=_ids([chunk for chunk, _ in present]),
        vectors=known.matrix([vector for _, vector in present]),
        removed=_ids([chunk for chunk, vector in sound if vector is None]),
    )


def by_ids(connection: sqlite3.Connection, embedder: str, ids: Sequence[int]) -> tuple[NDArray[np.int64], VectorMatrix]:
    known = known_embedder(connection, embedder)
    if known is None:
        return _ids([]), np.empty((0, 0), dtype=np.float32)
    rows = connection.execute(
        "SELECT chunk, change, vector, checksum FROM vectors WHERE embedder = ? AND vector IS NOT NULL"
        " AND chunk IN (SELECT value FROM json_each(?))",
        (known.id, msgspec.json.encode(list(ids)).decode()),
    )
    found = {chunk: vector for chunk, change, vector, written in rows if known.is_sound(chunk, change, vector, written)}
    present = [chunk_id for chunk_id in ids if chunk_id in found]
    return _ids(present), known.matrix([found[chunk_id] for chunk_id in present])


def ids_without(connection: sqlite3.Connection, embedder: str, after: int, limit: int) -> list[int]:
    known = known_embedder(connection, embedder)
    rows = connection.execute(
        "SELECT id FROM searchable WHERE id > ? AND NOT EXISTS"
        " (SELECT 1 FROM vectors WHERE chunk = searchable.id AND embedder = ? AND vector IS NOT NULL)"
        " ORDER BY id LIMIT ?",
        (after, known.id if known else 0, limit),
    )
    return [chunk_id for (chunk_id,) in rows]


def count_without(connection: sqlite3.Connection, embedder: str) -> int:
    known = known_embedder(connection, embedder)
    count: int
    (count,) = connection.execute(
        "SELECT count(*) FROM searchable WHERE NOT EXISTS"
        " (SELECT 1 FROM vectors WHERE chunk = searchable.id AND embedder = ? AND vector IS NOT NULL)",
        (known.id if known else 0,),
    ).fetchone()
    return count


def _require_embedder(connection: sqlite3.Connection, name: str, vectors: Mapping[int, StoredVector]) -> KnownEmbedder:
    known = known_embedder(connection, name)
    if known is None:
        first = next(iter(vectors.values()))
        if first.ndim != 1 or first.size == 0 or first.dtype.name not in _TYPES:
            raise InputError(f"A vector of {name} is not an array of float16 or float32 values.")
        (number,) = connection.execute("SELECT ifnull(max(id), 0) + 1 FROM embedders").fetchone()
        row = (number, name, first.size, first.dtype.name)
        connection.execute("INSERT INTO embedders VALUES (?, ?, ?, ?, ?)", (*row, checksum(row)))
        known = KnownEmbedder(number, first.size, first.dtype.name)
    return known


def may_be_indexed(connection: sqlite3.Connection, chunk_id: int, as_of: int | None) -> bool:
    """Whether a chunk may have a vector or keys that were computed at the change number `as_of`."""
    row = connection.execute("SELECT deleted, merged_into, change FROM chunks WHERE id = ?", (chunk_id,)).fetchone()
    if row is None:
        (last_id,) = connection.execute(
            "SELECT ifnull(max(seq), 0) FROM sqlite_sequence WHERE name = 'chunks'"
        ).fetchone()
        if 0 < chunk_id <= last_id:
            return False  # forgotten or cleared while it was being embedded
        raise InputError(f"There is no chunk with id {chunk_id} to give a vector to; nothing was changed.")
    deleted, merged_into, change = row
    return not deleted and merged_into is None and (as_of is None or change <= as_of)


def _blob(chunk_id: int, vector: StoredVector, embedder: str, known: KnownEmbedder) -> bytes:
    if vector.shape != (known.dimensions,) or vector.dtype.name != known.type:
        raise InputError(
            f"The vector of chunk id {chunk_id} is {vector.dtype.name} of shape {vector.shape}, but vectors of "
            f"{embedder} are {known.type} with {known.dimensions} values; nothing was changed."
        )
    if not np.isfinite(vector).all():
        raise InputError(f"The vector of chunk id {chunk_id} has values that are not finite; nothing was changed.")
    return vector.astype(vector.dtype.newbyteorder("<")).tobytes()


def _ids(ids: list[int]) -> NDArray[np.int64]:
    return np.array(ids, dtype=np.int64)


def _sound_embedder(row: tuple[Any, ...]) -> KnownEmbedder:
    number, name, dimensions, kind, _ = row
    require_sound(row, f"the record of the embedder {name} does not match its checksum")
    return KnownEmbedder(number, dimensions, kind)


def _require_sound_vector(row: tuple[Any, ...]) -> None:
    require_sound(row, f"a vector of the chunk with id {row[0]} does not match its checksum")


EMBEDDERS = Table(
    "embedders",
    ("id", "name", "dimensions", "type", "checksum"),
    _sound_embedder,
    lambda row: f"the record of the embedder {row['name']}",
)
VECTORS = Table(
    "vectors",
    ("chunk", "embedder", "change", "vector", "checksum"),
    _require_sound_vector,
    lambda row: f"a vector of the chunk with id {row['chunk']}",
)
