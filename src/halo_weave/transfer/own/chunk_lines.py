"""The fields of a chunk in an export, whether the line is the chunk itself or a copy in a snapshot."""

from datetime import UTC, datetime
from typing import Any

import msgspec

from halo_weave.records.chunks import Chunk, ChunkKey
from halo_weave.records.numbers import text_of_number
from halo_weave.records.packing import pack, unpack
from halo_weave.records.roles import Role
from halo_weave.transfer.file_values import in_utc, number_in_file, shallow


class ChunkLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    turn: str
    index: int
    role: Role
    position: str
    time: datetime
    text: str
    token_ids: list[int]
    piece_lengths: list[int]
    metadata: dict[str, Any] | None = None


def export_chunk(chunk: Chunk) -> dict[str, Any]:
    """Return the fields of a `ChunkLine`."""
    return {
        "turn": text_of_number(chunk.key.turn),
        "index": chunk.key.index,
        "role": chunk.key.role,
        "position": text_of_number(chunk.first_position),
        "time": chunk.time.astimezone(UTC),
        "text": chunk.text,
        "token_ids": unpack(chunk.packed_ids).tolist(),
        "piece_lengths": unpack(chunk.packed_lengths).tolist(),
        "metadata": chunk.metadata,
    }


def import_chunk(line: ChunkLine, **deletion: Any) -> Chunk:
    """Build a chunk from its line. `deletion` has the fields about its deletion, which `ChunkLine` lacks."""
    return Chunk(
        key=ChunkKey(number_in_file(line.turn), line.index, line.role),
        text=line.text,
        packed_ids=pack(line.token_ids),
        packed_lengths=pack(line.piece_lengths),
        first_position=number_in_file(line.position),
        time=in_utc(line.time),
        metadata=shallow(line.metadata),
        **deletion,
    )
