"""The chunks in snapshots of the memory tree in SQLite: copies that go when their sources are forgotten."""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from halo_weave.memory.numbers import key_of_number
from halo_weave.memory.sqlite_rows import DamagedRow, checksum, stored_number
from halo_weave.memory.sqlite_snapshot_rows import (
    INSERT,
    SELECT,
    VECTOR_TYPE,
    Range,
    SnapshotRow,
    blob,
    chunk_of,
    row_of,
    sound,
)
from halo_weave.memory.sqlite_table import Table
from halo_weave.memory.tree_records import SnapshotChunk, SnapshotVectors


class _VectorRow(NamedTuple):
    path: str
    id: int
    vector: bytes | None


# Whether one who has a position of it may be deleted: who begins within it, or the last one to begin before it.
_MAY_BE_HIDDEN = (
    "(EXISTS (SELECT 1 FROM chunks WHERE merged_into IS NULL AND deleted = 1"
    " AND chunks.first_position > tree_snapshots.first_position"
    " AND chunks.first_position <= tree_snapshots.last_position)"
    " OR (SELECT deleted FROM chunks WHERE merged_into IS NULL"
    " AND chunks.first_position <= tree_snapshots.first_position ORDER BY chunks.first_position DESC LIMIT 1) = 1)"
)

LOST = (
    "NOT EXISTS (SELECT 1 FROM tree"
    " WHERE tree.path = tree_snapshots.path AND tree.version = tree_snapshots.version AND content IS NOT NULL)"
)
"""That a snapshot is of no version."""


def add(
    connection: sqlite3.Connection, path: str, version: int, snapshot: Iterable[SnapshotChunk], as_of: int | None = None
) -> None:
    """In this order. What was forgotten since it was read is left out, and vectors of what changed after `as_of`."""
    for one in snapshot:
        if _is_forgotten(connection, (one.first_position, one.end_position)):
            continue
        row = row_of(path, version, one)
        if as_of is not None and _is_changed(connection, row, as_of):
            row = row._replace(embedder=None, vector=None)
        _insert(connection, row)


def copy(connection: sqlite3.Connection, path: str, version: int, to_version: int) -> None:
    """Also what is hidden now: it may come back."""
    for _, row in _rows(connection, "WHERE path = ? AND version = ? ORDER BY id", (path, version)):
        _insert(connection, row._replace(version=to_version))


def of_version(connection: sqlite3.Connection, path: str, version: int) -> list[SnapshotChunk]:
    found = _rows(connection, "WHERE path = ? AND version = ? ORDER BY id", (path, version))
    return [chunk_of(number, row) for number, row in found if not _is_hidden(connection, row.positions)]


def by_ids(connection: sqlite3.Connection, ids: Iterable[int]) -> dict[int, SnapshotChunk]:
    found = _rows(
        connection, "WHERE id IN (SELECT value FROM json_each(?))", (msgspec.json.encode(list(ids)).decode(),)
    )
    return {number: chunk_of(number, row) for number, row in found if not _is_hidden(connection, row.positions)}


def vectors(
    connection: sqlite3.Connection, embedder: str | None, where: str, parameters: tuple[str, ...]
) -> Iterator[_VectorRow]:
    """Of the heads that are asked for; those of other embedders come without a vector."""
    query = (
        "SELECT tree_snapshots.path, tree_snapshots.id, CASE WHEN embedder = ? THEN vector END,"
        f" {_MAY_BE_HIDDEN}, first_position, last_position FROM tree_heads JOIN tree_snapshots"
        " ON tree_snapshots.path = tree_heads.path AND tree_snapshots.version = tree_heads.version"
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
    """With what is hidden."""
    return [chunk_of(*one) for one in _rows(connection, "WHERE path = ? AND version = ? ORDER BY id", (path, version))]


def put_vectors(connection: sqlite3.Connection, embedder: str, vectors: Mapping[int, NDArray[Any]]) -> None:
    for number, vector in vectors.items():
        for _, row in _rows(connection, "WHERE id = ?", (number,)):
            _set_vector(connection, number, row._replace(embedder=embedder, vector=blob(vector)))


def outdate(connection: sqlite3.Connection, chunk_ids: Iterable[int]) -> None:
    """Take the vectors from copies of these chunks, since they may know what the chunks were embedded with."""
    for chunk_id in chunk_ids:
        found = connection.execute(
            "SELECT first_position, token_count FROM chunks WHERE id = ?", (chunk_id,)
        ).fetchone()
        if found is None:
            continue
        end = key_of_number(stored_number(found[0]) + found[1])
        where = "WHERE first_position >= ? AND first_position < ? AND vector IS NOT NULL"
        for number, row in _rows(connection, where, (found[0], end)):
            _set_vector(connection, number, row._replace(embedder=None, vector=None))


def forget(connection: sqlite3.Connection, ranges: Sequence[Range]) -> None:
    """Remove every copy that has one of these positions."""
    if not ranges:
        return
    end = max(end for _, end in ranges)
    found = connection.execute(
        "SELECT id, first_position, last_position FROM tree_snapshots WHERE first_position < ?", (key_of_number(end),)
    ).fetchall()
    for number, *positions in found:
        first, last = map(stored_number, positions)
        if any(first < end and start <= last for start, end in ranges):
            connection.execute("DELETE FROM tree_snapshots WHERE id = ?", (number,))


def findings(connection: sqlite3.Connection) -> Iterator[str]:
    for path, version in connection.execute(f"SELECT DISTINCT path, version FROM tree_snapshots WHERE {LOST}"):
        yield f"There is a snapshot of version {version} of the memory at {path!r}, which has no such version."
    for number, first, last in connection.execute("SELECT id, first_position, last_position FROM tree_snapshots"):
        if _is_forgotten(connection, (stored_number(first), stored_number(last) + 1)):
            yield f"Chunk {number} of the snapshots has positions that were forgotten."


def _rows(connection: sqlite3.Connection, where: str, parameters: tuple[Any, ...]) -> list[tuple[int, SnapshotRow]]:
    return [sound(columns) for columns in connection.execute(f"{SELECT} {where}", parameters).fetchall()]


def _set_vector(connection: sqlite3.Connection, number: int, row: SnapshotRow) -> None:
    connection.execute(
        "UPDATE tree_snapshots SET embedder = ?, vector = ?, checksum = ? WHERE id = ?",
        (row.embedder, row.vector, checksum(row), number),
    )


def _is_changed(connection: sqlite3.Connection, row: SnapshotRow, as_of: int) -> bool:
    found = connection.execute(
        "SELECT change FROM chunks WHERE turn = ? AND number = ? AND role = ?", (row.turn, row.number, row.role)
    ).fetchone()
    return found is None or found[0] > as_of


def _insert(connection: sqlite3.Connection, row: SnapshotRow) -> None:
    connection.execute(INSERT, (*row, checksum(row)))


def _is_hidden(connection: sqlite3.Connection, place: Range) -> bool:
    """Whether somebody who has one of these positions now is deleted."""
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


def _require_sound(columns: tuple[Any, ...]) -> None:
    number, row = sound(columns)
    if chunk_of(number, row).end_position != row.positions[1]:
        raise DamagedRow(f"chunk {number} in a snapshot of the memory at {row.path!r} has other positions than it says")


TABLE = Table(
    "tree_snapshots",
    ("id", *SnapshotRow._fields, "checksum"),
    _require_sound,
    lambda row: f"a chunk in the snapshot of version {row['version']} of the memory at {row['path']!r}",
)
