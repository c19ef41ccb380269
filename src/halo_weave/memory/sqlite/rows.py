"""Converts chunks to rows of the SQLite memory and back. Every row that is read is checked against its checksum."""

import hashlib
import sqlite3
import zlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, cast

import msgspec

from halo_weave.errors import InputError
from halo_weave.records.chunks import Chunk, ChunkKey
from halo_weave.records.numbers import key_of_number, number_of_key
from halo_weave.records.packing import packed_count
from halo_weave.records.roles import Role

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class DamagedRow(sqlite3.DatabaseError):
    """A row is not what was written. The file around it may be intact."""


class Row(NamedTuple):
    """The columns of `chunks` in order, without the leading id and the trailing checksum."""

    turn: bytes
    number: int
    role: str
    first_position: bytes
    token_count: int
    text: str
    token_ids: bytes
    piece_lengths: bytes
    time: int
    metadata: str | None
    deleted: int
    deleted_at: int | None
    undeleted_at: int | None
    merged_into: int | None
    change: int

    @property
    def key(self) -> ChunkKey:
        return ChunkKey(stored_number(self.turn), self.number, cast(Role, self.role))

    @property
    def start(self) -> int:
        return stored_number(self.first_position)

    @property
    def end(self) -> int:
        return self.start + self.token_count


COLUMNS = ", ".join(f"chunks.{name}" for name in (*Row._fields, "checksum"))


def row_of_chunk(chunk: Chunk, change: int) -> Row:
    return Row(
        turn=key_of_number(chunk.key.turn),
        number=chunk.key.index,
        role=chunk.key.role,
        first_position=key_of_number(chunk.first_position),
        token_count=packed_count(chunk.packed_ids),
        text=chunk.text,
        token_ids=chunk.packed_ids,
        piece_lengths=chunk.packed_lengths,
        time=microseconds(chunk.time),
        metadata=None if chunk.metadata is None else msgspec.json.encode(chunk.metadata).decode(),
        deleted=int(chunk.deleted),
        deleted_at=None if chunk.deleted_at is None else microseconds(chunk.deleted_at),
        undeleted_at=None if chunk.undeleted_at is None else microseconds(chunk.undeleted_at),
        merged_into=None,
        change=change,
    )


def chunk_of_row(row: Row, embedder: str | None) -> Chunk:
    return Chunk(
        key=row.key,
        text=row.text,
        packed_ids=row.token_ids,
        packed_lengths=row.piece_lengths,
        first_position=row.start,
        time=time_of_microseconds(row.time),
        metadata=None if row.metadata is None else msgspec.json.decode(row.metadata),
        embedder=embedder,
        deleted=bool(row.deleted),
        deleted_at=None if row.deleted_at is None else time_of_microseconds(row.deleted_at),
        undeleted_at=None if row.undeleted_at is None else time_of_microseconds(row.undeleted_at),
    )


def sound_row(chunk_id: int, columns: tuple[Any, ...]) -> Row:
    """Build a row from the columns read, after checking its checksum."""
    require_sound(columns, f"the chunk with id {chunk_id} does not match its checksum")
    return Row(*columns[:-1])


def require_sound(columns: Sequence[Any], problem: str) -> None:
    """Check the columns of a row against the checksum in the last column."""
    try:
        is_sound = checksum(tuple(columns[:-1])) == columns[-1]
    except UnicodeEncodeError:
        is_sound = False  # contains bytes that are not UTF-8, see `any_text`
    if not is_sound:
        raise DamagedRow(problem)


def stored_number(key: bytes) -> int:
    try:
        return number_of_key(key)
    except InputError as error:
        raise DamagedRow("a number does not match its checksum") from error


def checksum(row: tuple[Any, ...]) -> int:
    return zlib.crc32(msgspec.msgpack.encode(row))


def digest(row: tuple[Any, ...]) -> bytes:
    """Return a hash that only equal rows share."""
    return hashlib.blake2b(msgspec.msgpack.encode(row), digest_size=16).digest()


def microseconds(time: datetime) -> int:
    return (time - _EPOCH) // _MICROSECOND


def time_of_microseconds(microseconds: int) -> datetime:
    return _EPOCH + microseconds * _MICROSECOND
