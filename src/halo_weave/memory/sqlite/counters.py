"""The next turn, the next position and the last change number of the SQLite memory."""

import sqlite3
from typing import Any, NamedTuple

from halo_weave.memory.sqlite.rows import checksum, require_sound, stored_number
from halo_weave.memory.sqlite.table import Table
from halo_weave.records.numbers import key_of_number

_ID = 1
"""The id of the only row."""


class Counters(NamedTuple):
    next_turn: int
    next_position: int
    change: int


def read_counters(connection: sqlite3.Connection) -> Counters:
    row = connection.execute(f"SELECT {TABLE.listed} FROM counters").fetchone()
    return _sound((None,) * len(TABLE.columns) if row is None else row)


def write_counters(connection: sqlite3.Connection, counters: Counters) -> None:
    row = (_ID, key_of_number(counters.next_turn), key_of_number(counters.next_position), counters.change)
    connection.execute(
        "REPLACE INTO counters (id, next_turn, next_position, change, checksum) VALUES (?, ?, ?, ?, ?)",
        (*row, checksum(row)),
    )


def set_next(connection: sqlite3.Connection, turn: int, position: int) -> None:
    write_counters(connection, read_counters(connection)._replace(next_turn=turn, next_position=position))


def advance(connection: sqlite3.Connection, turn: int, position: int) -> None:
    """Raise the counters to these values; never lowers them."""
    before = read_counters(connection)
    set_next(connection, max(turn, before.next_turn), max(position, before.next_position))


def set_change(connection: sqlite3.Connection, change: int) -> None:
    write_counters(connection, read_counters(connection)._replace(change=change))


def _sound(row: tuple[Any, ...]) -> Counters:
    require_sound(row, "the counters of turns, positions and changes do not match their checksum")
    return Counters(stored_number(row[1]), stored_number(row[2]), row[3])


TABLE = Table(
    "counters",
    ("id", "next_turn", "next_position", "change", "checksum"),
    _sound,
    lambda _: "the counters of turns, positions and changes",
)
