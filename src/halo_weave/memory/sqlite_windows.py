"""Windows and their journals in the SQLite memory."""

import sqlite3
import zlib
from collections.abc import Iterator
from typing import Any

import msgspec

from halo_weave.errors import StoreConflict
from halo_weave.memory.numbers import key_of_number
from halo_weave.memory.sqlite_database import Database
from halo_weave.memory.sqlite_rows import microseconds, stored_number, time_of_microseconds
from halo_weave.memory.window_records import JournalEntry, WindowOutline, WindowRecord

_WINDOW = "id, name, state, version, saved_at"


class SqliteWindows:
    _database: Database

    def put_window(self, window: WindowRecord, *, durable: bool = True) -> int:
        version = window.version + 1
        row = (window.id, window.name, window.state, version, microseconds(window.saved_at))
        with self._database.writing(durable=durable) as connection:
            found = connection.execute("SELECT version FROM windows WHERE id = ?", (window.id,)).fetchone()
            if (found[0] if found else 0) != window.version:
                raise StoreConflict(
                    f"Window {window.id} was saved or deleted by somebody else since version {window.version}; "
                    "nothing was written."
                )
            connection.execute("REPLACE INTO windows VALUES (?, ?, ?, ?, ?, ?)", (*row, _checksum(*row)))
        return version

    def window(self, window_id: str) -> WindowRecord | None:
        with self._database.reading() as connection:
            row = connection.execute(f"SELECT {_WINDOW}, checksum FROM windows WHERE id = ?", (window_id,)).fetchone()
            return None if row is None else _sound_window(row)

    def windows(self) -> list[WindowOutline]:
        query = "SELECT id, name, version, saved_at, length(state) FROM windows ORDER BY saved_at DESC, id"
        with self._database.reading() as connection:
            return [
                WindowOutline(window_id, name, version, time_of_microseconds(saved_at), size)
                for window_id, name, version, saved_at, size in connection.execute(query)
            ]

    def delete_window(self, window_id: str) -> bool:
        with self._database.writing() as connection:
            connection.execute("DELETE FROM journal WHERE window = ?", (window_id,))
            return connection.execute("DELETE FROM windows WHERE id = ?", (window_id,)).rowcount > 0

    def journal_append(self, window_id: str, turn: int, payload: bytes) -> None:
        row = (window_id, key_of_number(turn), payload)
        with self._database.writing(durable=False) as connection:
            connection.execute(
                "INSERT INTO journal (window, turn, payload, checksum) VALUES (?, ?, ?, ?)", (*row, _checksum(*row))
            )

    def journal(self, window_id: str) -> list[JournalEntry]:
        query = "SELECT window, turn, payload, checksum FROM journal WHERE window = ? ORDER BY id"
        with self._database.reading() as connection:
            return [_sound_entry(row) for row in connection.execute(query, (window_id,))]

    def journal_clear(self, window_id: str, turn: int) -> None:
        # Not waiting for the disk: what a power cut brings back is told apart by the turn being written by then.
        with self._database.writing(durable=False) as connection:
            connection.execute("DELETE FROM journal WHERE window = ? AND turn = ?", (window_id, key_of_number(turn)))


def _sound_window(row: tuple[Any, ...]) -> WindowRecord:
    window_id, name, state, version, saved_at, checksum = row
    if _checksum(*row[:-1]) != checksum:
        raise sqlite3.DatabaseError(f"the window {window_id} is not what was saved")
    return WindowRecord(window_id, name, state, version, time_of_microseconds(saved_at))


def _sound_entry(row: tuple[Any, ...]) -> JournalEntry:
    window_id, turn, payload, checksum = row
    if _checksum(window_id, turn, payload) != checksum:
        raise sqlite3.DatabaseError(f"the journal of window {window_id} is not what was written")
    return JournalEntry(stored_number(turn), payload)


def findings(connection: sqlite3.Connection) -> Iterator[str]:
    for row in connection.execute(f"SELECT {_WINDOW}, checksum FROM windows"):
        if _checksum(*row[:-1]) != row[-1]:
            yield f"The window {row[0]} is not what was saved."
    for number, *row in connection.execute("SELECT id, window, turn, payload, checksum FROM journal"):
        if _checksum(*row[:-1]) != row[-1]:
            yield f"Entry {number} in the journal of window {row[0]} is not what was written."


def _checksum(*row: str | bytes | int) -> int:
    return zlib.crc32(msgspec.msgpack.encode(row))
