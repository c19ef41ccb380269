"""The audit log of the SQLite memory: who changed what in the record.

Entries name chunks by key and may outlive them.
"""

import sqlite3
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from halo_weave.memory.sqlite.chunks import find
from halo_weave.memory.sqlite.rows import checksum, microseconds, require_sound, stored_number, time_of_microseconds
from halo_weave.memory.sqlite.table import Table
from halo_weave.records.chunks import Action, AuditEntry, ChunkKey
from halo_weave.records.numbers import key_of_number


def record(connection: sqlite3.Connection, time: datetime, origin: str, action: Action, key: ChunkKey | None) -> None:
    row = (microseconds(time), origin, action, *_columns(key))
    connection.execute(
        "INSERT INTO audit (time, origin, action, turn, number, role, checksum) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (*row, checksum(row)),
    )


def entries(connection: sqlite3.Connection, after: int, limit: int) -> list[AuditEntry]:
    query = f"SELECT {TABLE.listed} FROM audit WHERE id > ? ORDER BY id LIMIT ?"
    return [_sound(row) for row in connection.execute(query, (after, limit))]


def restore(connection: sqlite3.Connection, audit: Iterable[AuditEntry], last_chunk_id: int) -> None:
    """Add the entries that are not in the log yet and do not concern a chunk that was here before."""
    (last_entry,) = connection.execute("SELECT ifnull(max(id), 0) FROM audit").fetchone()
    for entry in audit:
        if _is_about_older_chunk(connection, entry.key, last_chunk_id) or _is_known(connection, entry, last_entry):
            continue
        record(connection, entry.time, entry.origin, entry.action, entry.key)


def _is_about_older_chunk(connection: sqlite3.Connection, key: ChunkKey | None, last_chunk_id: int) -> bool:
    found = None if key is None else find(connection, key_of_number(key.turn), key.index, key.role)
    return found is not None and found[0] <= last_chunk_id


def _is_known(connection: sqlite3.Connection, entry: AuditEntry, last_entry: int) -> bool:
    query = (
        "SELECT 1 FROM audit WHERE time = ? AND origin = ? AND action = ?"
        " AND turn IS ? AND number IS ? AND role IS ? AND id <= ?"
    )
    values = (microseconds(entry.time), entry.origin, entry.action, *_columns(entry.key), last_entry)
    return connection.execute(query, values).fetchone() is not None


def _columns(key: ChunkKey | None) -> tuple[bytes | None, int | None, str | None]:
    return (None, None, None) if key is None else (key_of_number(key.turn), key.index, key.role)


def _sound(row: tuple[Any, ...]) -> AuditEntry:
    entry, time, origin, action, turn, number, role, _ = row
    require_sound(row[1:], f"entry {entry} of the log does not match its checksum")
    key = None if turn is None else ChunkKey(stored_number(turn), number, role)
    return AuditEntry(entry, time_of_microseconds(time), origin, action, key)


TABLE = Table(
    "audit",
    ("id", "time", "origin", "action", "turn", "number", "role", "checksum"),
    _sound,
    lambda row: f"entry {row['id']} of the log",
)
