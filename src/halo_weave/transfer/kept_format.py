"""The lines of an export for what was kept on purpose: every version of the notes and of the memory tree.

Vectors are left out: they are made anew from the texts.
"""

from datetime import UTC, datetime
from typing import Any

import msgspec

from halo_weave.errors import InputError
from halo_weave.memory.kept_records import Kept, KeptVersion
from halo_weave.memory.notes_records import NotesRecord
from halo_weave.memory.numbers import text_of_number
from halo_weave.memory.packing import pack, unpack
from halo_weave.memory.records import Chunk, ChunkKey, Role, require_whole_characters
from halo_weave.memory.tree_records import SnapshotChunk, TreeVersion
from halo_weave.tools.notes import LARGEST_DOCUMENT_BYTES
from halo_weave.tools.notes_changes import decoded
from halo_weave.transfer.file_values import in_utc, number_in_file, shallow


class NotesLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="notes"):
    version: int
    time: datetime
    origin: str
    command: str
    document: str


class SnapshotLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    turn: str
    index: int
    role: Role
    position: str
    time: datetime
    text: str
    token_ids: list[int]
    piece_lengths: list[int]
    similarity: float
    metadata: dict[str, Any] | None = None


class TreeLine(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="kind", tag="tree"
):
    """`content` is JSON as text; none if this version is a deletion."""

    path: str
    version: int
    created: datetime
    time: datetime
    origin: str
    content: str | None = None
    snapshot: list[SnapshotLine] = []


def line_of_kept(kept: Kept) -> bytes:
    line: NotesLine | TreeLine
    if isinstance(kept, NotesRecord):
        line = NotesLine(kept.version, kept.time.astimezone(UTC), kept.origin, kept.command, kept.document)
    else:
        version = kept.version
        line = TreeLine(
            path=version.path,
            version=version.version,
            created=version.created.astimezone(UTC),
            time=version.time.astimezone(UTC),
            origin=version.origin,
            content=version.content,
            snapshot=[_snapshot_line(one) for one in kept.snapshot],
        )
    return msgspec.json.encode(line) + b"\n"


def kept_of_line(line: NotesLine | TreeLine) -> Kept:
    if isinstance(line, TreeLine):
        version = TreeVersion(
            line.path, line.version, in_utc(line.created), in_utc(line.time), line.origin, line.content
        )
        return KeptVersion(version, [_snapshot_chunk(one) for one in line.snapshot])
    for text in (line.origin, line.command):
        require_whole_characters("the notes", text)
    if not isinstance(decoded(line.document), dict) or len(line.document.encode()) > LARGEST_DOCUMENT_BYTES:
        raise InputError(f"Version {line.version} of the notes is not one JSON object of bounded size.")
    return NotesRecord(line.version, in_utc(line.time), line.origin, line.command, line.document)


class KeptOrder:
    """Versions come from the first on, without a gap, and paths in their order."""

    def __init__(self) -> None:
        self._notes = 0
        self._path, self._version = "", 0

    def require_next(self, kept: Kept) -> None:
        if isinstance(kept, NotesRecord):
            self._notes += 1
            if kept.version != self._notes:
                raise InputError(f"Version {kept.version} of the notes comes where {self._notes} should be.")
            return
        path, version = kept.version.path, kept.version.version
        expected = self._version + 1 if path == self._path else 1
        if path < self._path or version != expected:
            raise InputError(f"Version {version} of the memory at {path!r:.80} does not come in its order.")
        self._path, self._version = path, version


def _snapshot_line(one: SnapshotChunk) -> SnapshotLine:
    chunk = one.chunk
    return SnapshotLine(
        turn=text_of_number(chunk.key.turn),
        index=chunk.key.index,
        role=chunk.key.role,
        position=text_of_number(chunk.first_position),
        time=chunk.time.astimezone(UTC),
        text=chunk.text,
        token_ids=unpack(chunk.packed_ids).tolist(),
        piece_lengths=unpack(chunk.packed_lengths).tolist(),
        similarity=one.similarity,
        metadata=chunk.metadata,
    )


def _snapshot_chunk(line: SnapshotLine) -> SnapshotChunk:
    chunk = Chunk(
        key=ChunkKey(number_in_file(line.turn), line.index, line.role),
        text=line.text,
        packed_ids=pack(line.token_ids),
        packed_lengths=pack(line.piece_lengths),
        first_position=number_in_file(line.position),
        time=in_utc(line.time),
        metadata=shallow(line.metadata),
    )
    return SnapshotChunk(chunk, line.similarity)
