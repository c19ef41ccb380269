"""The lines of an export: header, chunks, merged chunks, audit log, notes and memory tree, end.

Chunks and merged chunks are each in order of position. Positions and turns are decimal strings, times are ISO 8601 in
UTC. Equal memories give equal lines, except for the header's time.
"""

import hashlib
from datetime import UTC, datetime
from typing import Any

import msgspec

from halo_weave import __version__
from halo_weave.errors import InputError
from halo_weave.records.chunks import Action, AuditEntry, Chunk, ChunkKey, Record, Stats
from halo_weave.records.notes_and_tree import NotesOrTreeRecord
from halo_weave.records.numbers import text_of_number
from halo_weave.records.roles import Role
from halo_weave.transfer.file_values import in_utc, number_in_file
from halo_weave.transfer.own.chunk_lines import ChunkLine, export_chunk, import_chunk
from halo_weave.transfer.own.notes_and_tree import NotesLine, TreeLine, kept_of_line

FORMAT = "halo-weave-export"
VERSION = 1
UNNUMBERED = 0
"""The number of an audit entry from a file; the importing memory assigns a new one."""


class ExportHeader(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    format: str
    version: int
    program: str
    time: datetime
    chunks: int
    deleted_chunks: int
    merged_chunks: int
    tokens: int
    next_turn: str
    next_position: str


class End(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="end"):
    """`sha256` covers all lines between the header and this one, including their line ends."""

    sha256: str


class _Mark(msgspec.Struct):
    format: str
    version: int


class _ChunkLine(ChunkLine, frozen=True, kw_only=True, tag_field="kind", tag="chunk"):
    deleted: bool = False
    deleted_at: datetime | None = None
    undeleted_at: datetime | None = None
    merged_into: int | None = None


class _AuditLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag="audit"):
    time: datetime
    origin: str
    action: Action
    turn: str | None
    index: int | None
    role: Role | None


_MARKS = msgspec.json.Decoder(_Mark)
_HEADERS = msgspec.json.Decoder(ExportHeader)
_LINES = msgspec.json.Decoder(_ChunkLine | _AuditLine | NotesLine | TreeLine | End)


def header_of(stats: Stats, time: datetime) -> ExportHeader:
    return ExportHeader(
        format=FORMAT,
        version=VERSION,
        program=__version__,
        time=time.astimezone(UTC),
        chunks=stats.chunks,
        deleted_chunks=stats.deleted_chunks,
        merged_chunks=stats.merged_chunks,
        tokens=stats.tokens,
        next_turn=text_of_number(stats.next_turn),
        next_position=text_of_number(stats.next_position),
    )


def line_of_header(header: ExportHeader) -> bytes:
    return msgspec.json.encode(header) + b"\n"


def line_of_record(record: Record) -> bytes:
    chunk = record.chunk
    line = _ChunkLine(
        **export_chunk(chunk),
        deleted=chunk.deleted,
        deleted_at=chunk.deleted_at,
        undeleted_at=chunk.undeleted_at,
        merged_into=record.merged_into,
    )
    return msgspec.json.encode(line) + b"\n"


def line_of_audit(entry: AuditEntry) -> bytes:
    key = entry.key
    turn, index, role = (None, None, None) if key is None else (text_of_number(key.turn), key.index, key.role)
    line = _AuditLine(entry.time.astimezone(UTC), entry.origin, entry.action, turn, index, role)
    return msgspec.json.encode(line) + b"\n"


def line_of_end(sha256: str) -> bytes:
    return msgspec.json.encode(End(sha256)) + b"\n"


def new_digest() -> "hashlib._Hash":
    return hashlib.sha256()


def is_own_format(first_line: bytes) -> bool:
    try:
        return _MARKS.decode(first_line).format == FORMAT
    except (ValueError, RecursionError):
        return False


def header_of_line(line: bytes) -> ExportHeader:
    if (version := _MARKS.decode(line).version) > VERSION:
        raise InputError(
            f"It has format version {version}, but this version of Halo Weave reads versions up to {VERSION}; update "
            "Halo Weave to import it."
        )
    header: ExportHeader = _decoded(_HEADERS, line)
    if version < 1 or min(header.chunks, header.deleted_chunks, header.merged_chunks, header.tokens) < 0:
        raise InputError("It contains a number that is too small.")
    return header


def read_line(line: bytes) -> Record | AuditEntry | NotesOrTreeRecord | End:
    read: _ChunkLine | _AuditLine | NotesLine | TreeLine | End = _decoded(_LINES, line)
    if isinstance(read, End):
        return read
    if isinstance(read, NotesLine | TreeLine):
        return kept_of_line(read)
    if isinstance(read, _ChunkLine):
        return Record(_chunk(read), read.merged_into)
    return AuditEntry(UNNUMBERED, in_utc(read.time), read.origin, read.action, _audit_key(read))


def _audit_key(read: _AuditLine) -> ChunkKey | None:
    if read.turn is None or read.index is None or read.role is None:
        if (read.turn, read.index, read.role) == (None, None, None):
            return None
        raise InputError("An entry of the log has an incomplete chunk key.")
    return ChunkKey(number_in_file(read.turn), read.index, read.role)


def _chunk(read: _ChunkLine) -> Chunk:
    return import_chunk(
        read,
        deleted=read.deleted,
        deleted_at=None if read.deleted_at is None else in_utc(read.deleted_at),
        undeleted_at=None if read.undeleted_at is None else in_utc(read.undeleted_at),
    )


def _decoded(decoder: msgspec.json.Decoder[Any], line: bytes) -> Any:
    try:
        return decoder.decode(line)
    except RecursionError:
        raise InputError("It is nested too deeply.") from None
    except ValueError as error:
        raise InputError(f"It is not valid ({error}).") from error
