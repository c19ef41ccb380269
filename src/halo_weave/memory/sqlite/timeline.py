"""The timelines of windows in the SQLite memory: each bounded by bytes, so that the oldest entries leave."""

import sqlite3
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from halo_weave.memory.sqlite.rows import checksum, microseconds, require_sound, time_of_microseconds
from halo_weave.memory.sqlite.table import Table
from halo_weave.memory.store.windows import TIMELINE_BYTES
from halo_weave.records.windows import TimelineEntry

_COLUMNS = "window, number, previous, time, end_byte, payload"
_INSERT = f"INSERT INTO timeline ({_COLUMNS}, checksum) VALUES (?, ?, ?, ?, ?, ?, ?)"


def append(connection: sqlite3.Connection, window_id: str, number: int, time: datetime, payload: bytes) -> None:
    """Append an entry, and remove the oldest ones that no longer fit. The new entry always stays."""
    newest = connection.execute(
        "SELECT number, end_byte FROM timeline WHERE window = ? ORDER BY number DESC LIMIT 1", (window_id,)
    ).fetchone()
    previous, end_byte = newest or (0, 0)
    end_byte += len(payload)
    row = (window_id, number, previous, microseconds(time), end_byte, payload)
    connection.execute(_INSERT, (*row, checksum(row)))
    # The order of the primary key, so that this reads only the entries that leave.
    (oldest,) = connection.execute(
        "SELECT number FROM timeline WHERE window = ? AND (end_byte - length(payload) >= ? OR number = ?)"
        " ORDER BY number LIMIT 1",
        (window_id, end_byte - TIMELINE_BYTES, number),
    ).fetchone()
    connection.execute("DELETE FROM timeline WHERE window = ? AND number < ?", (window_id, oldest))


def page(
    connection: sqlite3.Connection, window_id: str, before: int | None, after: int, limit: int
) -> list[TimelineEntry]:
    """Return entries, newest first, up to the first one that is missing."""
    query = (
        f"SELECT {_COLUMNS}, checksum FROM timeline WHERE window = ? AND number > ? AND (? IS NULL OR number < ?)"
        " ORDER BY number DESC LIMIT ?"
    )
    found: list[TimelineEntry] = []
    for row in connection.execute(query, (window_id, after, before, before, limit)):
        entry = _sound(row)
        if found and found[-1].previous != entry.number:
            break
        found.append(entry)
    return found


def remove_of_window(connection: sqlite3.Connection, window_id: str) -> None:
    connection.execute("DELETE FROM timeline WHERE window = ?", (window_id,))


def findings(connection: sqlite3.Connection) -> Iterator[str]:
    query = "SELECT DISTINCT window FROM timeline WHERE window NOT IN (SELECT id FROM windows)"
    for (window_id,) in connection.execute(query):
        yield f"There is a timeline of the window {window_id}, which does not exist."


def _sound(row: tuple[Any, ...]) -> TimelineEntry:
    window_id, number, previous, time, _, payload, _ = row
    require_sound(row, f"an entry in the timeline of the window {window_id} does not match its checksum")
    return TimelineEntry(number, previous, time_of_microseconds(time), payload)


TABLE = Table(
    "timeline",
    (*_COLUMNS.split(", "), "checksum"),
    _sound,
    lambda row: f"an entry in the timeline of the window {row['window']}",
)
