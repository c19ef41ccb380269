"""Indexes of the SQLite memory that no longer agree with their tables, because a row was damaged."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def indexes_made_again(connection: sqlite3.Connection, *tables: str) -> Iterator[None]:
    """Lets rows be removed whose entries the indexes lack; afterwards these tables' indexes are made of the rows.

    Without tables all are. To be used in a transaction.
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
