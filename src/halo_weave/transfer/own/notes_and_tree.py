"""The lines of an export for every version of the notes and of the memory tree.

Vectors are left out, because they can be recomputed from the texts.
"""

from datetime import UTC, datetime

import msgspec

from halo_weave.errors import InputError
from halo_weave.records.chunks import require_whole_characters
from halo_weave.records.notes import NotesRecord
from halo_weave.records.notes_and_tree import KeptVersion, NotesOrTreeRecord
from halo_weave.records.tree import SnapshotChunk, TreeVersion
from halo_weave.tools.notes.changes import decoded
from halo_weave.tools.notes.notes import LARGEST_DOCUMENT_BYTES
from halo_weave.transfer.file_values import in_utc
from halo_weave.transfer.own.chunk_lines import ChunkLine, export_chunk, import_chunk


class NotesLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="notes"):
    version: int
    time: datetime
    origin: str
    command: str
    document: str


class SnapshotLine(ChunkLine, frozen=True, kw_only=True):
    similarity: float


class TreeLine(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="kind", tag="tree"
):
    """`content` is JSON as a string, or None if this version is a deletion."""

    path: str
    version: int
    created: datetime
    time: datetime
    origin: str
    content: str | None = None
    snapshot: list[SnapshotLine] = []


def line_of_kept(kept: NotesOrTreeRecord) -> bytes:
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
            snapshot=[SnapshotLine(**export_chunk(one.chunk), similarity=one.similarity) for one in kept.snapshot],
        )
    return msgspec.json.encode(line) + b"\n"


def kept_of_line(line: NotesLine | TreeLine) -> NotesOrTreeRecord:
    if isinstance(line, TreeLine):
        version = TreeVersion(
            line.path, line.version, in_utc(line.created), in_utc(line.time), line.origin, line.content
        )
        return KeptVersion(version, [SnapshotChunk(import_chunk(one), one.similarity) for one in line.snapshot])
    for text in (line.origin, line.command):
        require_whole_characters("the notes", text)
    if not isinstance(decoded(line.document), dict) or len(line.document.encode()) > LARGEST_DOCUMENT_BYTES:
        raise InputError(f"Version {line.version} of the notes is not a JSON object, or is too large.")
    return NotesRecord(line.version, in_utc(line.time), line.origin, line.command, line.document)


class KeptOrder:
    """Requires that versions start at 1 without gaps, and that paths are in order."""

    def __init__(self) -> None:
        self._notes = 0
        self._path, self._version = "", 0

    def require_next(self, kept: NotesOrTreeRecord) -> None:
        if isinstance(kept, NotesRecord):
            self._notes += 1
            if kept.version != self._notes:
                raise InputError(f"Version {kept.version} of the notes comes where {self._notes} should be.")
            return
        path, version = kept.version.path, kept.version.version
        expected = self._version + 1 if path == self._path else 1
        if path < self._path or version != expected:
            raise InputError(f"Version {version} of the memory at {path!r:.80} is out of order.")
        self._path, self._version = path, version
