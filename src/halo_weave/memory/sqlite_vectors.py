"""Vectors in the SQLite memory: one per chunk and embedder, each change with a number of its own."""

import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from halo_weave.errors import InputError
from halo_weave.memory.records import VectorChanges, VectorMatrix

Vector = NDArray[np.floating[Any]]
_TYPES = ("float16", "float32")


class KnownEmbedder(NamedTuple):
    id: int
    dimensions: int
    type: str

    def matrix(self, blobs: list[bytes]) -> VectorMatrix:
        width = self.dimensions * np.dtype(self.type).itemsize
        if any(len(blob) != width for blob in blobs):
            raise sqlite3.DatabaseError("a vector does not have the length of its embedder's")
        flat = np.frombuffer(b"".join(blobs), dtype=np.dtype(self.type).newbyteorder("<"))
        return flat.reshape(len(blobs), self.dimensions).astype(self.type)


def known_embedder(connection: sqlite3.Connection, name: str) -> KnownEmbedder | None:
    found = connection.execute("SELECT id, dimensions, type FROM embedders WHERE name = ?", (name,)).fetchone()
    return None if found is None else KnownEmbedder(*found)


def put(
    connection: sqlite3.Connection,
    embedder: str,
    vectors: Mapping[int, Vector],
    change: int,
    as_of: int | None,
) -> list[int]:
    """Keep what may be kept, with the change numbers from `change` + 1 on, one for each of the ids that are given."""
    known = _require_embedder(connection, embedder, vectors)
    kept = [chunk_id for chunk_id in vectors if _may_have_vector(connection, chunk_id, as_of)]
    rows = [
        (chunk_id, known.id, change + step, _blob(chunk_id, vectors[chunk_id], embedder, known))
        for step, chunk_id in enumerate(kept, start=1)
    ]
    connection.executemany(
        "INSERT INTO vectors (chunk, embedder, change, vector) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (chunk, embedder) DO UPDATE SET change = excluded.change, vector = excluded.vector",
        rows,
    )
    return kept


def remove(connection: sqlite3.Connection, chunk: int, change: int) -> int:
    """Remove a chunk's vectors, with change numbers from `change` + 1 on; gives the last number used."""
    rows = connection.execute("SELECT id FROM vectors WHERE chunk = ? AND vector IS NOT NULL", (chunk,)).fetchall()
    for (row,) in rows:
        change += 1
        connection.execute("UPDATE vectors SET vector = NULL, change = ? WHERE id = ?", (change, row))
    return change


def drop(connection: sqlite3.Connection, embedder: str, change: int) -> int:
    """Remove all vectors of an embedder, with change numbers from `change` + 1 on; gives how many there were."""
    known = known_embedder(connection, embedder)
    if known is None:
        return 0
    return connection.execute(
        "UPDATE vectors SET vector = NULL, change = ? + numbered.place FROM"
        " (SELECT id, row_number() OVER (ORDER BY id) AS place FROM vectors WHERE embedder = ? AND vector IS NOT NULL)"
        " AS numbered WHERE vectors.id = numbered.id",
        (change, known.id),
    ).rowcount


def since(connection: sqlite3.Connection, embedder: str, change: int, limit: int) -> VectorChanges:
    known = known_embedder(connection, embedder)
    if known is None:
        return VectorChanges(change, _ids([]), np.empty((0, 0), dtype=np.float32), _ids([]))
    rows = connection.execute(
        "SELECT chunk, vector, change FROM vectors WHERE embedder = ? AND change > ? ORDER BY change LIMIT ?",
        (known.id, change, limit),
    ).fetchall()
    present = [(chunk, vector) for chunk, vector, _ in rows if vector is not None]
    return VectorChanges(
        change_number=rows[-1][2] if rows else change,
        ids=_ids([chunk for chunk, _ in present]),
        vectors=known.matrix([vector for _, vector in present]),
        removed=_ids([chunk for chunk, vector, _ in rows if vector is None]),
    )


def by_ids(connection: sqlite3.Connection, embedder: str, ids: Sequence[int]) -> tuple[NDArray[np.int64], VectorMatrix]:
    known = known_embedder(connection, embedder)
    if known is None:
        return _ids([]), np.empty((0, 0), dtype=np.float32)
    rows = connection.execute(
        "SELECT chunk, vector FROM vectors WHERE embedder = ? AND vector IS NOT NULL"
        " AND chunk IN (SELECT value FROM json_each(?))",
        (known.id, msgspec.json.encode(list(ids)).decode()),
    )
    found = dict(rows.fetchall())
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


def _require_embedder(connection: sqlite3.Connection, name: str, vectors: Mapping[int, Vector]) -> KnownEmbedder:
    known = known_embedder(connection, name)
    if known is None:
        first = next(iter(vectors.values()))
        if first.ndim != 1 or first.size == 0 or first.dtype.name not in _TYPES:
            raise InputError(f"A vector of {name} is not a row of float16 or float32 values.")
        connection.execute(
            "INSERT INTO embedders (name, dimensions, type) VALUES (?, ?, ?)", (name, first.size, first.dtype.name)
        )
        known = known_embedder(connection, name)
        assert known is not None
    return known


def _may_have_vector(connection: sqlite3.Connection, chunk_id: int, as_of: int | None) -> bool:
    row = connection.execute("SELECT deleted, merged_into, change FROM chunks WHERE id = ?", (chunk_id,)).fetchone()
    if row is None:
        (last_id,) = connection.execute(
            "SELECT ifnull(max(seq), 0) FROM sqlite_sequence WHERE name = 'chunks'"
        ).fetchone()
        if 0 < chunk_id <= last_id:
            return False  # it was forgotten or cleared while somebody embedded it
        raise InputError(f"There is no chunk with id {chunk_id} that could have a vector; nothing was changed.")
    deleted, merged_into, change = row
    return not deleted and merged_into is None and (as_of is None or change <= as_of)


def _blob(chunk_id: int, vector: Vector, embedder: str, known: KnownEmbedder) -> bytes:
    if vector.shape != (known.dimensions,) or vector.dtype.name != known.type:
        raise InputError(
            f"The vector of chunk id {chunk_id} is {vector.dtype.name} of shape {vector.shape}, but vectors of "
            f"{embedder} are {known.type} with {known.dimensions} values; nothing was changed."
        )
    if not np.isfinite(vector).all():
        raise InputError(f"The vector of chunk id {chunk_id} has values that are not numbers; nothing was changed.")
    return vector.astype(vector.dtype.newbyteorder("<")).tobytes()


def _ids(ids: list[int]) -> NDArray[np.int64]:
    return np.array(ids, dtype=np.int64)
