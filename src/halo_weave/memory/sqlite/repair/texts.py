"""Reads texts of a damaged SQLite memory that may not be UTF-8."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def any_text(connection: sqlite3.Connection) -> Iterator[None]:
    """Allow texts that are not UTF-8 to be read; each invalid byte becomes an unpaired surrogate."""
    before = connection.text_factory
    connection.text_factory = lambda content: content.decode("utf-8", "surrogateescape")
    try:
        yield
    finally:
        connection.text_factory = before


def printable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
