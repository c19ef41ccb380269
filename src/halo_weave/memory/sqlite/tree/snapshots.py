"""Snapshot chunks of the memory tree in SQLite: copies that are removed when their sources are forgotten."""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from halo_weave.memory.sqlite.rows import checksum, digest, stored_number
from halo_weave.memory.sqlite.tree.snapshot_rows import (
    REFERENCES,
    SHARED,
    VECTOR_TYPE,
    Copy,
    Range,
    Reference,
    Shared,
    blob,
    chunk_of,
    copy_of,
    sound_reference,
    sound_shared,
)
from halo_weave.records.numbers import key_of_number
from halo_weave.records.tree import SnapshotChunk, SnapshotVectors


class _VectorRow(NamedTuple):
    path: str
    id: int
    vector: bytes | None


# Whether a chunk that holds one of the copy's positions may be deleted: one that begins within the copy, or the last
# one that begins at or before its start.
_MAY_BE_HIDDEN = (
    "(EXISTS (SELECT 1 FROM chunks WHERE merged_into IS NULL AND deleted = 1"
    " AND chunks.first_position > snapshot_chunks.first_position"
    " AND chunks.first_position <= snapshot_chunks.last_position)"
    " OR (SELECT deleted FROM chunks WHERE merged_into IS NULL"
    " AND chunks.first_position <= snapshot_chunks.first_position ORDER BY chunks.first_position DESC LIMIT 1) = 1)"
)

_WITHOUT_VERSION = (
    "NOT EXISTS (SELECT 1 FROM tree"
    " WHERE tree.path = tree_snapshots.path AND tree.version = tree_snapshots.version AND content IS NOT NULL)"
)
_WITHOUT_CHUNK = "chunk NOT IN (SELECT id FROM snapshot_chunks)"
UNUSED = "id NOT IN (SELECT chunk FROM tree_snapshots)"
"""Condition: the chunk is in no snapshot."""
LOST = f"{_WITHOUT_VERSION} OR {_WITHOUT_CHUNK}"
"""Condition: the snapshot's version or its chunk does not exist."""


def add(
    connection: sqlite3.Connection, path: str, version: int, snapshot: Iterable[SnapshotChunk], as_of: int | None = None
) -> None:
    """Add chunks in this order.

    Leaves out chunks that were forgotten since they were read, and vectors of chunks that changed after `as_of`.
    """
    for one in snapshot:
        if _is_forgotten(connection, (one.first_position, one.end_position)):
            continue
        copied = copy_of(one)
        shared = _find(connection, copied) or _insert_shared(connection, copied)
        is_outdated = as_of is not None and _is_changed(connection, copied, as_of)
        if one.vector is not None and not is_outdated:
            _set_vector(connection, shared, one.embedder, blob(one.vector))
        _insert_reference(connection, path, version, shared.id, float(one.similarity))


def copy(connection: sqlite3.Connection, path: str, version: int, to_version: int) -> None:
    """Copy a snapshot to a new version, including hidden chunks, which may come back."""
    query = f"SELECT {REFERENCES.listed} FROM tree_snapshots WHERE path = ? AND version = ? ORDER BY id"
    for columns in connection.execute(query, (path, version)).fetchall():
        one = sound_reference(columns)
        _insert_reference(connection, path, to_version, one.chunk, one.similarity)


def of_version(connection: sqlite3.Connection, path: str, version: int) -> list[SnapshotChunk]:
    found = _both(connection, "WHERE path = ? AND version = ? ORDER BY tree_snapshots.id", (path, version))
    return [chunk_of(*one) for one in found if not _is_hidden(connection, one[1].copy.positions)]


def by_ids(connection: sqlite3.Connection, ids: Iterable[int]) -> dict[int, SnapshotChunk]:
    where = "WHERE tree_snapshots.id IN (SELECT value FROM json_each(?))"
    found = _both(connection, where, (msgspec.json.encode(list(ids)).decode(),))
    return {one[0].id: chunk_of(*one) for one in found if not _is_hidden(connection, one[1].copy.positions)}


def vectors(
    connection: sqlite3.Connection, embedder: str | None, where: str, parameters: tuple[str, ...]
) -> Iterator[_VectorRow]:
    """Yield rows of the selected heads; the vector is None if it is from another embedder."""
    query = (
        "SELECT tree_snapshots.path, tree_snapshots.id, CASE WHEN embedder = ? THEN vector END,"
        f" {_MAY_BE_HIDDEN}, first_position, last_position FROM tree_heads JOIN tree_snapshots"
        " ON tree_snapshots.path = tree_heads.path AND tree_snapshots.version = tree_heads.version"
        " JOIN snapshot_chunks ON snapshot_chunks.id = tree_snapshots.chunk"
        f" WHERE {where} ORDER BY tree_snapshots.id"
    )
    for path, number, vector, may_be_hidden, first, last in connection.execute(query, (embedder, *parameters)):
        if not may_be_hidden or not _is_hidden(connection, (stored_number(first), stored_number(last) + 1)):
            yield _VectorRow(path, number, vector)


def joined(rows: Iterable[_VectorRow]) -> SnapshotVectors:
    embedded, others = [], []
    for row in rows:
        if row.vector is None:
            others.append((row.path, row.id))
        else:
            embedded.append(row)
    matrix = np.frombuffer(b"".join(row.vector or b"" for row in embedded), dtype=VECTOR_TYPE).astype(np.float32)
    matrix = matrix.reshape(len(embedded), -1) if embedded else np.empty((0, 0), dtype=np.float32)
    return SnapshotVectors([row.path for row in embedded], [row.id for row in embedded], matrix, others)


def whole(connection: sqlite3.Connection, path: str, version: int) -> list[SnapshotChunk]:
    """Return all chunks of a snapshot, including hidden ones."""
    where = "WHERE path = ? AND version = ? ORDER BY tree_snapshots.id"
    return [chunk_of(*one) for one in _both(connection, where, (path, version))]


def put_vectors(connection: sqlite3.Connection, embedder: str, vectors: Mapping[int, NDArray[Any]]) -> None:
    for number, vector in vectors.items():
        for _, shared in _both(connection, "WHERE tree_snapshots.id = ?", (number,)):
            _set_vector(connection, shared, embedder, blob(vector))


def outdate(connection: sqlite3.Connection, chunk_ids: Iterable[int]) -> None:
    """Remove vectors from copies of these chunks, because they were embedded with text that has changed."""
    for chunk_id in chunk_ids:
        found = connection.execute(
            "SELECT first_position, token_count FROM chunks WHERE id = ?", (chunk_id,)
        ).fetchone()
        if found is None:
            continue
        end = key_of_number(stored_number(found[0]) + found[1])
        where = "WHERE first_position >= ? AND first_position < ? AND vector IS NOT NULL"
        for shared in _shared(connection, where, (found[0], end)):
            _set_vector(connection, shared, None, None)


def forget(connection: sqlite3.Connection, ranges: Sequence[Range]) -> None:
    """Remove every copy that overlaps one of these ranges, from all snapshots."""
    if not ranges:
        return
    end = max(end for _, end in ranges)
    found = connection.execute(
        "SELECT id, first_position, last_position FROM snapshot_chunks WHERE first_position < ?", (key_of_number(end),)
    ).fetchall()
    for number, *positions in found:
        first, last = map(stored_number, positions)
        if any(first < end and start <= last for start, end in ranges):
            connection.execute("DELETE FROM tree_snapshots WHERE chunk = ?", (number,))
            connection.execute("DELETE FROM snapshot_chunks WHERE id = ?", (number,))


def findings(connection: sqlite3.Connection) -> Iterator[str]:
    for path, version in connection.execute(
        f"SELECT DISTINCT path, version FROM tree_snapshots WHERE {_WITHOUT_VERSION}"
    ):
        yield f"There is a snapshot of version {version} of the memory at {path!r}, which has no such version."
    for (number,) in connection.execute(f"SELECT id FROM tree_snapshots WHERE {_WITHOUT_CHUNK}"):
        yield f"Chunk {number} of a snapshot is missing."
    for (number,) in connection.execute(f"SELECT id FROM snapshot_chunks WHERE {UNUSED}"):
        yield f"Chunk {number} of the snapshots belongs to no snapshot."
    for number, first, last in connection.execute("SELECT id, first_position, last_position FROM snapshot_chunks"):
        if _is_forgotten(connection, (stored_number(first), stored_number(last) + 1)):
            yield f"Chunk {number} of the snapshots has positions that were permanently removed."


def _both(connection: sqlite3.Connection, where: str, parameters: tuple[Any, ...]) -> list[tuple[Reference, Shared]]:
    query = (
        f"SELECT {REFERENCES.listed}, {SHARED.listed} FROM tree_snapshots"
        f" LEFT JOIN snapshot_chunks ON snapshot_chunks.id = tree_snapshots.chunk {where}"
    )
    split = len(REFERENCES.columns)
    rows = connection.execute(query, parameters).fetchall()
    return [(sound_reference(row[:split]), sound_shared(row[split:])) for row in rows]


def _shared(connection: sqlite3.Connection, where: str, parameters: tuple[Any, ...]) -> list[Shared]:
    query = f"SELECT {SHARED.listed} FROM snapshot_chunks {where}"
    return [sound_shared(row) for row in connection.execute(query, parameters).fetchall()]


def _find(connection: sqlite3.Connection, copied: Copy) -> Shared | None:
    found = _shared(connection, "WHERE digest = ?", (digest(copied),))
    return found[0] if found else None


def _insert_shared(connection: sqlite3.Connection, copied: Copy) -> Shared:
    row = (digest(copied), *copied, None, None)
    places = ", ".join("?" * (len(row) + 1))
    columns = ", ".join(SHARED.columns[1:])
    number = connection.execute(
        f"INSERT INTO snapshot_chunks ({columns}) VALUES ({places})", (*row, checksum(row))
    ).lastrowid
    assert number is not None
    return Shared(number, copied, None, None)


def _insert_reference(connection: sqlite3.Connection, path: str, version: int, chunk: int, similarity: float) -> None:
    row = (path, version, chunk, similarity)
    connection.execute(
        "INSERT INTO tree_snapshots (path, version, chunk, similarity, checksum) VALUES (?, ?, ?, ?, ?)",
        (*row, checksum(row)),
    )


def _set_vector(connection: sqlite3.Connection, shared: Shared, embedder: str | None, vector: bytes | None) -> None:
    if (shared.embedder, shared.vector) == (embedder, vector):
        return
    row = (digest(shared.copy), *shared.copy, embedder, vector)
    connection.execute(
        "UPDATE snapshot_chunks SET embedder = ?, vector = ?, checksum = ? WHERE id = ?",
        (embedder, vector, checksum(row), shared.id),
    )


def _is_changed(connection: sqlite3.Connection, copied: Copy, as_of: int) -> bool:
    found = connection.execute(
        "SELECT change FROM chunks WHERE turn = ? AND number = ? AND role = ?",
        (copied.turn, copied.number, copied.role),
    ).fetchone()
    return found is None or found[0] > as_of


def _is_hidden(connection: sqlite3.Connection, place: Range) -> bool:
    """Whether a chunk that now holds one of these positions is deleted."""
    start, end = place
    while end > start:
        found = connection.execute(
            "SELECT first_position, token_count, deleted FROM chunks"
            " WHERE merged_into IS NULL AND first_position < ? ORDER BY first_position DESC LIMIT 1",
            (key_of_number(end),),
        ).fetchone()
        if found is None or (first := stored_number(found[0])) + found[1] <= start:
            return False
        if found[2]:
            return True
        end = first
    return False


def _is_forgotten(connection: sqlite3.Connection, place: Range) -> bool:
    start, end = place
    found = connection.execute(
        "SELECT first_position, token_count FROM forgotten WHERE first_position IS NOT NULL AND first_position < ?"
        " ORDER BY first_position DESC LIMIT 1",
        (key_of_number(end),),
    ).fetchone()
    return found is not None and stored_number(found[0]) + found[1] > start
