"""Checksums as SQL functions, for steps that give them to rows which had none, and for changes of many rows at once."""

import sqlite3
from typing import Any

from halo_weave.memory.sqlite.rows import checksum, digest

UNSOUND = -1
"""The checksum of no row."""


def offer(connection: sqlite3.Connection) -> None:
    """`row_checksum(kinds, ...)` and `row_digest(kinds, ...)`.

    `kinds` has a sign for each column: `t` for a text, which is given as a blob, `-` for others.
    """
    connection.create_function("row_checksum", -1, _row_checksum, deterministic=True)
    connection.create_function("row_digest", -1, _row_digest, deterministic=True)


def _row_checksum(kinds: str, *columns: Any) -> int:
    # Python would refuse to hand over a text that is not UTF-8, and a damaged memory could not be opened any more.
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
