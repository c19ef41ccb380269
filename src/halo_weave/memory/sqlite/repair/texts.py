"""Texts of a damaged SQLite memory, which need not be UTF-8."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def any_text(connection: sqlite3.Connection) -> Iterator[None]:
    """Lets texts be read that are not UTF-8: a byte that does not belong there becomes half of a character."""
    before = connection.text_factory
    connection.text_factory = lambda content: content.decode("utf-8", "surrogateescape")
    try:
        yield
    finally:
        connection.text_factory = before


def printable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
