"""A chunk in a snapshot of the memory tree as a row of the SQLite memory, and back, held against its checksum."""

from typing import Any, NamedTuple, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from halo_weave.errors import InputError
from halo_weave.memory.numbers import key_of_number
from halo_weave.memory.records import Chunk, ChunkKey, Role
from halo_weave.memory.sqlite_rows import microseconds, require_sound, stored_number, time_of_microseconds
from halo_weave.memory.tree_records import SnapshotChunk

Range = tuple[int, int]
"""Positions from the first up to, but without, the second."""
VECTOR_TYPE = "<f4"


class SnapshotRow(NamedTuple):
    """The columns of `tree_snapshots` in their order, but for the id in front and the checksum behind."""

    path: str
    version: int
    turn: bytes
    number: int
    role: str
    first_position: bytes
    last_position: bytes
    text: str
    token_ids: bytes
    piece_lengths: bytes
    time: int
    metadata: str | None
    similarity: float
    embedder: str | None
    vector: bytes | None

    @property
    def positions(self) -> Range:
        return stored_number(self.first_position), stored_number(self.last_position) + 1


_COLUMNS = ", ".join(f"tree_snapshots.{name}" for name in ("id", *SnapshotRow._fields, "checksum"))
INSERT = (
    f"INSERT INTO tree_snapshots ({', '.join(SnapshotRow._fields)}, checksum)"
    f" VALUES ({', '.join('?' * (len(SnapshotRow._fields) + 1))})"
)
SELECT = f"SELECT {_COLUMNS} FROM tree_snapshots"


def row_of(path: str, version: int, one: SnapshotChunk) -> SnapshotRow:
    chunk = one.chunk
    return SnapshotRow(
        path=path,
        version=version,
        turn=key_of_number(chunk.key.turn),
        number=chunk.key.index,
        role=chunk.key.role,
        first_position=key_of_number(chunk.first_position),
        last_position=key_of_number(chunk.end_position - 1),
        text=chunk.text,
        token_ids=chunk.packed_ids,
        piece_lengths=chunk.packed_lengths,
        time=microseconds(chunk.time),
        metadata=None if chunk.metadata is None else msgspec.json.encode(chunk.metadata).decode(),
        similarity=float(one.similarity),
        embedder=one.embedder,
        vector=None if one.vector is None else blob(one.vector),
    )


def chunk_of(number: int, row: SnapshotRow) -> SnapshotChunk:
    chunk = Chunk(
        key=ChunkKey(stored_number(row.turn), row.number, cast(Role, row.role)),
        text=row.text,
        packed_ids=row.token_ids,
        packed_lengths=row.piece_lengths,
        first_position=stored_number(row.first_position),
        time=time_of_microseconds(row.time),
        metadata=None if row.metadata is None else msgspec.json.decode(row.metadata),
    )
    vector = None if row.vector is None else np.frombuffer(row.vector, dtype=VECTOR_TYPE).astype(np.float32)
    return SnapshotChunk(chunk, row.similarity, row.embedder, vector, number)


def blob(vector: NDArray[Any]) -> bytes:
    if vector.ndim != 1 or not np.isfinite(vector).all():
        raise InputError("A vector for a snapshot is not a row of numbers; nothing was changed.")
    return vector.astype(VECTOR_TYPE).tobytes()


def sound(columns: tuple[Any, ...]) -> tuple[int, SnapshotRow]:
    require_sound(
        columns[1:], f"chunk {columns[0]} in a snapshot of the memory at {columns[1]!r} is not what was saved"
    )
    return columns[0], SnapshotRow(*columns[1:-1])
