"""Converts snapshot chunks of the memory tree to rows and back, checking checksums.

Many snapshots contain the same chunk. It is stored once, and each snapshot refers to it.
"""

from typing import Any, NamedTuple, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from halo_weave.errors import InputError
from halo_weave.memory.sqlite.rows import DamagedRow, microseconds, require_sound, stored_number, time_of_microseconds
from halo_weave.memory.sqlite.table import Table
from halo_weave.records.chunks import Chunk, ChunkKey
from halo_weave.records.numbers import key_of_number
from halo_weave.records.roles import Role
from halo_weave.records.tree import SnapshotChunk

Range = tuple[int, int]
"""Positions from the first, inclusive, to the second, exclusive."""
VECTOR_TYPE = "<f4"


class Copy(NamedTuple):
    """The columns of `snapshot_chunks` that hold the chunk itself."""

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

    @property
    def positions(self) -> Range:
        return stored_number(self.first_position), stored_number(self.last_position) + 1


class Shared(NamedTuple):
    """A row of `snapshot_chunks`. The vector may change; the copy never does."""

    id: int
    copy: Copy
    embedder: str | None
    vector: bytes | None


class Reference(NamedTuple):
    """A row of `tree_snapshots`: a chunk in a snapshot, and its similarity."""

    id: int
    path: str
    version: int
    chunk: int
    similarity: float


def copy_of(one: SnapshotChunk) -> Copy:
    chunk = one.chunk
    return Copy(
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
    )


def chunk_of(reference: Reference, shared: Shared) -> SnapshotChunk:
    vector = None if shared.vector is None else np.frombuffer(shared.vector, dtype=VECTOR_TYPE).astype(np.float32)
    return SnapshotChunk(_chunk(shared.copy), reference.similarity, shared.embedder, vector, reference.id)


def blob(vector: NDArray[Any]) -> bytes:
    if vector.ndim != 1 or not np.isfinite(vector).all():
        raise InputError("A vector for a snapshot is not an array of numbers; nothing was changed.")
    return vector.astype(VECTOR_TYPE).tobytes()


def sound_reference(columns: tuple[Any, ...]) -> Reference:
    require_sound(
        columns[1:], f"chunk {columns[0]} in a snapshot of the memory at {columns[1]!r} does not match its checksum"
    )
    return Reference(*columns[:-1])


def sound_shared(columns: tuple[Any, ...]) -> Shared:
    require_sound(columns[1:], f"chunk {columns[0]} of the snapshots does not match its checksum")
    number, _, *copy, embedder, vector, _ = columns
    return Shared(number, Copy(*copy), embedder, vector)


def _require_readable(columns: tuple[Any, ...]) -> None:
    shared = sound_shared(columns)
    if _chunk(shared.copy).end_position != shared.copy.positions[1]:
        raise DamagedRow(f"chunk {shared.id} of the snapshots has inconsistent positions")


def _chunk(copy: Copy) -> Chunk:
    return Chunk(
        key=ChunkKey(stored_number(copy.turn), copy.number, cast(Role, copy.role)),
        text=copy.text,
        packed_ids=copy.token_ids,
        packed_lengths=copy.piece_lengths,
        first_position=stored_number(copy.first_position),
        time=time_of_microseconds(copy.time),
        metadata=None if copy.metadata is None else msgspec.json.decode(copy.metadata),
    )


SHARED = Table(
    "snapshot_chunks",
    ("id", "digest", *Copy._fields, "embedder", "vector", "checksum"),
    _require_readable,
    lambda row: f"a chunk of the snapshots with id {row['id']}",
)
REFERENCES = Table(
    "tree_snapshots",
    (*Reference._fields, "checksum"),
    sound_reference,
    lambda row: f"a chunk in the snapshot of version {row['version']} of the memory at {row['path']!r}",
)
