"""Rebuilds indexes that no longer match their tables because a row was damaged."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def indexes_made_again(connection: sqlite3.Connection, *tables: str) -> Iterator[None]:
    """Allow the removal of rows that are missing from indexes, then rebuild the indexes of these tables.

    Without tables, all indexes are rebuilt. The caller must be in a transaction.
    """
    connection.execute("PRAGMA writable_schema = ON")
    try:
        yield
        for table in tables:
            connection.execute(f"REINDEX {table}")
        if not tables:
            connection.execute("REINDEX")
    finally:
        connection.execute("PRAGMA writable_schema = OFF")
