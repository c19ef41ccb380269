"""Checksums as SQL functions, for migrations that add them and for statements that change many rows."""

import sqlite3
from typing import Any

from halo_weave.memory.sqlite.rows import checksum, digest

UNSOUND = -1
"""A value that no checksum has."""


def offer(connection: sqlite3.Connection) -> None:
    """Register `row_checksum(kinds, ...)` and `row_digest(kinds, ...)`.

    `kinds` has one character per column: `t` for a text, which is passed as a blob, and `-` for anything else.
    """
    connection.create_function("row_checksum", -1, _row_checksum, deterministic=True)
    connection.create_function("row_digest", -1, _row_digest, deterministic=True)


def _row_checksum(kinds: str, *columns: Any) -> int:
    # Texts arrive as blobs because Python cannot receive text that is not UTF-8. If decoding fails here, the row gets
    # an invalid checksum, so that a damaged memory can still be opened.
    try:
        return checksum(_row(kinds, columns))
    except UnicodeDecodeError:
        return UNSOUND


def _row_digest(kinds: str, *columns: Any) -> bytes:
    return digest(_row(kinds, columns))


def _row(kinds: str, columns: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(_column(kind, column) for kind, column in zip(kinds, columns, strict=True))


def _column(kind: str, column: Any) -> Any:
    return column.decode() if kind == "t" and isinstance(column, bytes) else column
