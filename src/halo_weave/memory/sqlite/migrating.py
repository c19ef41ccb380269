"""Brings a database to the newest version of the schema, statement by statement in the caller's transaction."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import cache

from halo_weave.memory.sqlite import checksums, indexed_texts, wishes
from halo_weave.memory.sqlite.schema import MIGRATIONS


def offer_functions(connection: sqlite3.Connection) -> None:
    """Register the SQL functions that migrations, checks and repairs use."""
    wishes.offer(connection)
    checksums.offer(connection)
    indexed_texts.offer(connection)


def newest_version() -> int:
    return len(MIGRATIONS)


def migrate(connection: sqlite3.Connection, version: int) -> None:
    """Run the missing migrations. The caller must be in a transaction."""
    for script in MIGRATIONS[version:]:
        for statement in _statements(script):
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {newest_version()}")


def schema_of_new_memory() -> frozenset[tuple[str, str, str, str | None]]:
    """Return type, name, table and SQL of every schema object, except the word index's internal tables."""
    return _schema(MIGRATIONS)


@cache
def _schema(steps: tuple[str, ...]) -> frozenset[tuple[str, str, str, str | None]]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        offer_functions(connection)
        for statement in _statements("".join(steps)):
            connection.execute(statement)
        query = "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE NOT (type = 'table' AND name GLOB 'words_*')"
        return frozenset(connection.execute(query))


def _statements(script: str) -> Iterator[str]:
    """Split a script into statements, because Python's `executescript` would commit first."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
