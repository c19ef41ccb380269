"""The notes in the SQLite memory. Each version is one row, written once and never changed."""

import sqlite3
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

from halo_weave.errors import StoreConflict
from halo_weave.memory.sqlite.database import Database
from halo_weave.memory.sqlite.rows import checksum, microseconds, require_sound, time_of_microseconds
from halo_weave.memory.sqlite.table import Table
from halo_weave.records.chunks import require_aware, require_whole_characters
from halo_weave.records.notes import DEFAULT_DOCUMENT, NotesOutline, NotesRecord

_COLUMNS = "version, time, origin, command, document, checksum"
_NOBODYS = NotesRecord(0, datetime(1970, 1, 1, tzinfo=UTC), "", "", DEFAULT_DOCUMENT)


class SqliteNotes:
    _database: Database
    _clock: Callable[[], datetime]

    def notes(self) -> NotesRecord:
        with self._database.reading() as connection:
            return newest(connection)

    def put_notes(
        self, document: str, *, expected_version: int, origin: str, command: str, time: datetime | None = None
    ) -> int:
        for text in (document, origin, command):
            require_whole_characters("the notes", text)
        written_at = self._clock() if time is None else time
        require_aware("the notes", written_at)
        record = NotesRecord(expected_version + 1, written_at, origin, command, document)
        with self._database.writing() as connection:
            (version,) = connection.execute("SELECT ifnull(max(version), 0) FROM notes").fetchone()
            if version != expected_version:
                raise StoreConflict(
                    f"The notes are at version {version}, not {expected_version}: they were changed in the meantime. "
                    "Nothing was written."
                )
            insert(connection, record)
        return record.version

    def notes_version(self, version: int) -> NotesRecord | None:
        if version == 0:
            return _NOBODYS
        with self._database.reading() as connection:
            return find(connection, version)

    def notes_history(self, before: int | None = None, limit: int = 100) -> list[NotesOutline]:
        query = (
            "SELECT version, time, origin, command, length(CAST(document AS BLOB)) FROM notes"
            " WHERE ?1 IS NULL OR version < ?1 ORDER BY version DESC LIMIT ?2"
        )
        with self._database.reading() as connection:
            return [
                NotesOutline(version, time_of_microseconds(time), origin, command, size)
                for version, time, origin, command, size in connection.execute(query, (before, limit))
            ]


def newest(connection: sqlite3.Connection) -> NotesRecord:
    row = connection.execute(f"SELECT {_COLUMNS} FROM notes ORDER BY version DESC LIMIT 1").fetchone()
    return _NOBODYS if row is None else _sound(row)


def find(connection: sqlite3.Connection, version: int) -> NotesRecord | None:
    row = connection.execute(f"SELECT {_COLUMNS} FROM notes WHERE version = ?", (version,)).fetchone()
    return None if row is None else _sound(row)


def insert(connection: sqlite3.Connection, record: NotesRecord) -> None:
    row = (record.version, microseconds(record.time), record.origin, record.command, record.document)
    connection.execute("INSERT INTO notes VALUES (?, ?, ?, ?, ?, ?)", (*row, checksum(row)))


def repeat_before(connection: sqlite3.Connection, version: int, now: datetime, origin: str) -> None:
    """Write a version with the same document as the one before it."""
    before = _NOBODYS if version == 1 else find(connection, version - 1)
    assert before is not None
    insert(connection, NotesRecord(version, now, origin, "repair", before.document))


def findings(connection: sqlite3.Connection) -> Iterator[str]:
    expected = 1
    for row in connection.execute("SELECT version FROM notes ORDER BY version"):
        if row[0] != expected:
            yield f"The notes have version {row[0]} in the place of version {expected}."
        expected = row[0] + 1


def _sound(row: tuple[Any, ...]) -> NotesRecord:
    version, time, origin, command, document, _ = row
    require_sound(row, f"version {version} of the notes does not match its checksum")
    return NotesRecord(version, time_of_microseconds(time), origin, command, document)


TABLE = Table("notes", tuple(_COLUMNS.split(", ")), _sound, lambda row: f"version {row['version']} of the notes")
