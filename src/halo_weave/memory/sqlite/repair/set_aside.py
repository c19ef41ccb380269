"""Damaged rows that were moved out of their tables and kept for inspection.

No other chunk may take the positions of a chunk that was set aside. The chunk itself may come back from an export or a
backup.
"""

import sqlite3
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple, cast

import msgspec

from halo_weave.errors import StoreConflict
from halo_weave.memory.sqlite.rows import Row, microseconds, stored_number, time_of_microseconds
from halo_weave.records.chunks import ChunkKey
from halo_weave.records.damage import SetAside
from halo_weave.records.numbers import key_of_number, text_of_number
from halo_weave.records.roles import Role


class Place(NamedTuple):
    """What is known of the key and positions of a chunk or of its copy."""

    turn: bytes | None = None
    number: int | None = None
    role: str | None = None
    first_position: bytes | None = None
    token_count: int | None = None

    @property
    def key(self) -> ChunkKey | None:
        if self.turn is None or self.number is None or self.role is None:
            return None
        return ChunkKey(stored_number(self.turn), self.number, cast(Role, self.role))


def add(
    connection: sqlite3.Connection,
    time: datetime,
    source: str,
    what: str,
    problem: str,
    columns: Mapping[str, Any],
    place: Place,
) -> SetAside:
    content = {name: _as_it_is(value) for name, value in columns.items()}
    number = connection.execute(
        "INSERT INTO damaged (time, source, what, problem, content, turn, number, role, first_position, token_count)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (microseconds(time), source, what, problem, msgspec.msgpack.encode(content), *place),
    ).lastrowid
    return SetAside(number or 0, time, source, what, problem, content)


def entries(connection: sqlite3.Connection) -> list[SetAside]:
    query = "SELECT id, time, source, what, problem, content FROM damaged ORDER BY id"
    return [
        SetAside(number, time_of_microseconds(time), source, what, problem, msgspec.msgpack.decode(content))
        for number, time, source, what, problem, content in connection.execute(query)
    ]


def forget(connection: sqlite3.Connection, ranges: Iterable[tuple[int, int]]) -> None:
    """Remove rows that overlap one of these ranges."""
    for start, end in ranges:
        query = "SELECT id, first_position, token_count FROM damaged WHERE first_position < ?"
        for number, first, count in connection.execute(query, (key_of_number(end),)).fetchall():
            if stored_number(first) + count > start:
                connection.execute("DELETE FROM damaged WHERE id = ?", (number,))


class TakenPlace(NamedTuple):
    """Positions reserved for a damaged chunk. `turn` and `role` are None if only the positions are known."""

    turn: bytes | None
    role: str | None
    first_position: bytes
    end: int


def places(connection: sqlite3.Connection) -> list[TakenPlace]:
    query = (
        "SELECT iif(source = 'forgotten', NULL, turn), iif(source = 'forgotten', NULL, role), first_position,"
        " token_count FROM damaged WHERE first_position IS NOT NULL AND source IN ('chunks', 'forgotten')"
    )
    return [
        TakenPlace(turn, role, first, stored_number(first) + count)
        for turn, role, first, count in connection.execute(query)
    ]


def conflict(key: ChunkKey, position: int) -> StoreConflict:
    return StoreConflict(
        f"Chunk {key} would begin at position {text_of_number(position)}, which belongs to a damaged chunk that "
        "was set aside; nothing was written."
    )


def require_free(connection: sqlite3.Connection, row: Row) -> None:
    """Raise StoreConflict if a different set-aside chunk has these positions."""
    query = (
        "SELECT first_position, token_count FROM damaged WHERE first_position < ?"
        " AND source IN ('chunks', 'forgotten') AND (source = 'forgotten' OR turn IS NOT ? OR role IS NOT ?)"
    )
    for first, count in connection.execute(query, (key_of_number(row.end), row.turn, row.role)):
        if stored_number(first) + count > row.start:
            raise conflict(row.key, row.start)


def _as_it_is(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-8", "surrogateescape")
    return value
