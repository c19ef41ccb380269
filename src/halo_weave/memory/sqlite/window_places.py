"""The places of windows in the list, in the SQLite memory."""

import sqlite3
from collections.abc import Sequence
from typing import Any

from halo_weave.errors import StoreConflict
from halo_weave.memory.sqlite.rows import checksum, require_sound
from halo_weave.memory.sqlite.table import Table

_COLUMNS = ("window", "folder", "place")


def place(connection: sqlite3.Connection, folder: str, window_ids: Sequence[str]) -> None:
    rows = connection.execute("SELECT window FROM window_places WHERE folder = ?", (folder,)).fetchall()
    for (window_id,) in rows:
        put(connection, window_id, folder, None)
    for number, window_id in enumerate(window_ids):
        put(connection, window_id, folder, number)


def put(connection: sqlite3.Connection, window_id: str, folder: str, number: int | None) -> None:
    if connection.execute("SELECT 1 FROM windows WHERE id = ?", (window_id,)).fetchone() is None:
        raise StoreConflict(f"There is no window {window_id}; it was deleted. Nothing was moved.")
    row = (window_id, folder, number)
    connection.execute("REPLACE INTO window_places VALUES (?, ?, ?, ?)", (*row, checksum(row)))


def remove(connection: sqlite3.Connection, window_id: str) -> None:
    connection.execute("DELETE FROM window_places WHERE window = ?", (window_id,))


def _require_sound(row: tuple[Any, ...]) -> None:
    require_sound(row, f"the place of the window {row[0]} in the list does not match its checksum")


TABLE = Table(
    "window_places",
    (*_COLUMNS, "checksum"),
    _require_sound,
    lambda row: f"the place of the window {row['window']} in the list",
)
