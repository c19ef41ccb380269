"""Values that the SQLite memory keeps about itself: its identity, and the serving embedder."""

import secrets
import sqlite3
from typing import Any

from halo_weave.errors import InputError
from halo_weave.memory.sqlite import vectors
from halo_weave.memory.sqlite.rows import DamagedRow, checksum, require_sound
from halo_weave.memory.sqlite.table import Table

_IDENTITY = "identity"
_SERVING = "serving_embedder"


def value(connection: sqlite3.Connection, name: str) -> str | None:
    found = connection.execute("SELECT name, value, checksum FROM settings WHERE name = ?", (name,)).fetchone()
    return None if found is None else _sound(found)


def set_value(connection: sqlite3.Connection, name: str, text: str) -> None:
    connection.execute("REPLACE INTO settings VALUES (?, ?, ?)", (name, text, checksum((name, text))))


def remove_value(connection: sqlite3.Connection, name: str, text: str) -> None:
    """Remove the value unless it has changed."""
    connection.execute("DELETE FROM settings WHERE name = ? AND value = ?", (name, text))


def identity(connection: sqlite3.Connection) -> str:
    found = value(connection, _IDENTITY)
    if found is None:
        raise DamagedRow("its identity is missing")
    return found


def renew_identity(connection: sqlite3.Connection) -> None:
    set_value(connection, _IDENTITY, secrets.token_hex(16))


def serving_embedder(connection: sqlite3.Connection) -> str | None:
    return value(connection, _SERVING)


def serve_embedder(connection: sqlite3.Connection, name: str, *, even_if_incomplete: bool) -> None:
    is_first = serving_embedder(connection) is None
    if not is_first and not even_if_incomplete and (lacking := vectors.count_without(connection, name)):
        raise InputError(
            f"The embedder {name} cannot serve yet: {lacking} chunks have no vector of it; nothing was changed."
        )
    set_value(connection, _SERVING, name)


def require_not_serving(connection: sqlite3.Connection, name: str) -> None:
    if serving_embedder(connection) == name:
        raise InputError(f"Search uses the vectors by {name}; switch to another embedder first. Nothing was changed.")


def _sound(row: tuple[Any, ...]) -> str:
    require_sound(row, f"the entry {row[0]} does not match its checksum")
    return str(row[1])


TABLE = Table("settings", ("name", "value", "checksum"), _sound, lambda row: f"the entry {row['name']}")
