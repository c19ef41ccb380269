"""Windows, their burials, timelines and journals in the SQLite memory."""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from halo_weave.errors import StoreConflict, StoreDamaged
from halo_weave.memory.sqlite import burials as sqlite_burials
from halo_weave.memory.sqlite import timeline as sqlite_timeline
from halo_weave.memory.sqlite import window_chunks, window_places
from halo_weave.memory.sqlite.database import Database
from halo_weave.memory.sqlite.repair.indexes import indexes_made_again
from halo_weave.memory.sqlite.repair.texts import any_text, printable
from halo_weave.memory.sqlite.rows import (
    DamagedRow,
    checksum,
    microseconds,
    require_sound,
    stored_number,
    time_of_microseconds,
)
from halo_weave.memory.sqlite.table import Table
from halo_weave.records.chunks import ChunkKey
from halo_weave.records.numbers import key_of_number
from halo_weave.records.windows import (
    BurialGap,
    BurialPlace,
    BurialRecord,
    ChunkPage,
    JournalEntry,
    TimelineEntry,
    WindowOutline,
    WindowRecord,
)

_WINDOW = "id, name, state, version, saved_at"


class SqliteWindows:
    _database: Database

    def put_window(
        self,
        window: WindowRecord,
        *,
        durable: bool = True,
        buried: Sequence[BurialRecord] = (),
        raised: Sequence[ChunkKey] = (),
        timeline: bytes = b"",
    ) -> int:
        version = window.version + 1
        row = (window.id, window.name, window.state, version, microseconds(window.saved_at))
        with self._database.writing(durable=durable) as connection:
            if _version(connection, window.id) != window.version:
                raise StoreConflict(
                    f"Window {window.id} was saved or deleted elsewhere since version {window.version}; nothing was "
                    "written."
                )
            connection.execute("REPLACE INTO windows VALUES (?, ?, ?, ?, ?, ?)", (*row, checksum(row)))
            sqlite_burials.change(connection, window.id, buried, raised)
            if timeline:
                sqlite_timeline.append(connection, window.id, version, window.saved_at, timeline)
        return version

    def window(self, window_id: str) -> WindowRecord | None:
        with self._database.reading() as connection:
            row = connection.execute(f"SELECT {_WINDOW}, checksum FROM windows WHERE id = ?", (window_id,)).fetchone()
            try:
                return None if row is None else _sound_window(row)
            except DamagedRow as error:
                raise StoreDamaged(
                    f"The saved state of the window {row[1]} is damaged; delete the window, or set it aside with "
                    "`halo-weave memory repair`. Its conversation is still in the memory."
                ) from error

    def window_version(self, window_id: str) -> int:
        with self._database.reading() as connection:
            return _version(connection, window_id)

    def windows(self) -> list[WindowOutline]:
        query = (
            "SELECT id, name, version, saved_at, length(state), folder, place FROM windows"
            " LEFT JOIN window_places ON window_places.window = windows.id ORDER BY saved_at DESC, id"
        )
        with self._database.reading() as connection, any_text(connection):
            return [_outline(*row) for row in connection.execute(query)]

    def place_windows(self, folder: str, window_ids: Sequence[str]) -> None:
        with self._database.writing() as connection:
            window_places.place(connection, folder, window_ids)

    def file_window(self, window_id: str, folder: str) -> None:
        with self._database.writing() as connection:
            window_places.put(connection, window_id, folder, None)

    def delete_window(self, window_id: str) -> bool:
        with self._database.writing() as connection:
            try:
                return _delete(connection, window_id)
            except sqlite3.DatabaseError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_CORRUPT:
                    raise
                # One of its rows is damaged, so an index no longer matches its table.
                with indexes_made_again(connection, "journal", "burials", "timeline", "window_places", "windows"):
                    return _delete(connection, window_id)

    def burials(self, window_id: str, *, before: BurialPlace | None = None, limit: int = 1000) -> list[BurialRecord]:
        with self._database.reading() as connection:
            return sqlite_burials.page(connection, window_id, before, limit)

    def burials_by_keys(self, window_id: str, keys: Iterable[ChunkKey]) -> dict[ChunkKey, BurialRecord]:
        with self._database.reading() as connection:
            return sqlite_burials.by_keys(connection, window_id, keys)

    def count_burials(self, window_id: str) -> int:
        with self._database.reading() as connection:
            return sqlite_burials.count(connection, window_id)

    def burial_gaps(self, window_id: str, positions: Sequence[int], *, keys: int) -> list[BurialGap | None]:
        with self._database.reading() as connection:
            return sqlite_burials.gaps(connection, window_id, positions, keys)

    def timeline(
        self, window_id: str, *, before: int | None = None, after: int = 0, limit: int = 1000
    ) -> list[TimelineEntry]:
        with self._database.reading() as connection:
            return sqlite_timeline.page(connection, window_id, before, after, limit)

    def chunks_of_window(
        self,
        window_id: str,
        *,
        before: ChunkKey | None = None,
        after: ChunkKey | None = None,
        limit: int,
        most_bytes: int,
    ) -> ChunkPage:
        with self._database.reading() as connection:
            if after is not None:
                return window_chunks.following(connection, window_id, after, limit, most_bytes)
            return window_chunks.preceding(connection, window_id, before, limit, most_bytes)

    def journal_append(self, window_id: str, turn: int, payload: bytes) -> None:
        with self._database.writing(durable=False) as connection:
            _append(connection, window_id, turn, payload)

    def journal_replace(self, window_id: str, turn: int, payload: bytes) -> None:
        with self._database.writing(durable=False) as connection:
            _clear(connection, window_id, turn)
            _append(connection, window_id, turn, payload)

    def journal(self, window_id: str) -> list[JournalEntry]:
        query = "SELECT window, turn, payload, checksum FROM journal WHERE window = ? ORDER BY id"
        with self._database.reading() as connection:
            return [_sound_entry(row) for row in connection.execute(query, (window_id,))]

    def journal_clear(self, window_id: str, turn: int) -> None:
        # No need to wait for the disk: entries that reappear after a power cut are recognised, because their turn has
        # been written.
        with self._database.writing(durable=False) as connection:
            _clear(connection, window_id, turn)


def _append(connection: sqlite3.Connection, window_id: str, turn: int, payload: bytes) -> None:
    row = (window_id, key_of_number(turn), payload)
    connection.execute(
        "INSERT INTO journal (window, turn, payload, checksum) VALUES (?, ?, ?, ?)", (*row, checksum(row))
    )


def _clear(connection: sqlite3.Connection, window_id: str, turn: int) -> None:
    connection.execute("DELETE FROM journal WHERE window = ? AND turn = ?", (window_id, key_of_number(turn)))


def _delete(connection: sqlite3.Connection, window_id: str) -> bool:
    connection.execute("DELETE FROM journal WHERE window = ?", (window_id,))
    sqlite_burials.remove_of_window(connection, window_id)
    sqlite_timeline.remove_of_window(connection, window_id)
    window_places.remove(connection, window_id)
    return connection.execute("DELETE FROM windows WHERE id = ?", (window_id,)).rowcount > 0


def _version(connection: sqlite3.Connection, window_id: str) -> int:
    found = connection.execute("SELECT version FROM windows WHERE id = ?", (window_id,)).fetchone()
    return found[0] if found else 0


def _outline(
    window_id: Any, name: Any, version: Any, saved_at: Any, size: Any, folder: Any, place: Any
) -> WindowOutline:
    """Build an outline even of a damaged window; the rows are read without checking their checksums."""
    try:
        time = time_of_microseconds(saved_at)
    except (OverflowError, TypeError):
        time = time_of_microseconds(0)
    version, size = (number if isinstance(number, int) else 0 for number in (version, size))
    folder, place = printable(str(folder or "")), place if isinstance(place, int) else None
    return WindowOutline(printable(str(window_id)), printable(str(name)), version, time, size, folder, place)


def _sound_window(row: tuple[Any, ...]) -> WindowRecord:
    window_id, name, state, version, saved_at, _ = row
    require_sound(row, f"the window {window_id} does not match its checksum")
    return WindowRecord(window_id, name, state, version, time_of_microseconds(saved_at))


def _sound_entry(row: tuple[Any, ...]) -> JournalEntry:
    window_id, turn, payload, _ = row
    require_sound(row, f"the journal of the window {window_id} does not match its checksum")
    return JournalEntry(stored_number(turn), payload)


TABLES = (
    Table(
        "windows",
        (*_WINDOW.split(", "), "checksum"),
        _sound_window,
        lambda row: f"the window {row['name']} with the id {row['id']}",
    ),
    Table(
        "journal",
        ("window", "turn", "payload", "checksum"),
        _sound_entry,
        lambda row: f"an entry in the journal of the window {row['window']}",
    ),
    window_places.TABLE,
)
