"""What the SQLite memory gives out next, and the number of its last change."""

import sqlite3
from typing import NamedTuple

from halo_weave.memory.numbers import key_of_number
from halo_weave.memory.sqlite_rows import stored_number


class Counters(NamedTuple):
    next_turn: int
    next_position: int
    change: int


def read_counters(connection: sqlite3.Connection) -> Counters:
    turn, position, change = connection.execute("SELECT next_turn, next_position, change FROM counters").fetchone()
    return Counters(stored_number(turn), stored_number(position), change)


def set_next(connection: sqlite3.Connection, turn: int, position: int) -> None:
    connection.execute(
        "UPDATE counters SET next_turn = ?, next_position = ?", (key_of_number(turn), key_of_number(position))
    )


def advance(connection: sqlite3.Connection, turn: int, position: int) -> None:
    """Never goes back."""
    before = read_counters(connection)
    set_next(connection, max(turn, before.next_turn), max(position, before.next_position))


def set_change(connection: sqlite3.Connection, change: int) -> None:
    connection.execute("UPDATE counters SET change = ?", (change,))
