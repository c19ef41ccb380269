"""Checksums as SQL functions, for steps that give them to rows which had none, and for changes of many rows at once."""

import sqlite3
from typing import Any

from halo_weave.memory.sqlite_rows import checksum

UNSOUND = -1
"""The checksum of no row."""


def offer(connection: sqlite3.Connection) -> None:
    """`row_checksum(kinds, ...)`: a kind for each column, `t` for a text, which is given as a blob, `-` for others."""
    connection.create_function("row_checksum", -1, _row_checksum, deterministic=True)


def _row_checksum(kinds: str, *columns: Any) -> int:
    # Python would refuse to hand over a text that is not UTF-8, and a damaged memory could not be opened any more.
    try:
        return checksum(tuple(_column(kind, column) for kind, column in zip(kinds, columns, strict=True)))
    except UnicodeDecodeError:
        return UNSOUND


def _column(kind: str, column: Any) -> Any:
    return column.decode() if kind == "t" and isinstance(column, bytes) else column
