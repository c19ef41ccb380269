"""Checks of the whole SQLite memory for damage."""

import sqlite3
from collections.abc import Callable, Iterator

from halo_weave.memory.sqlite import burials, notes, outlines, settings, timeline, totals, wishes
from halo_weave.memory.sqlite.migrating import schema_of_new_memory
from halo_weave.memory.sqlite.repair.damage import TABLES, damages
from halo_weave.memory.sqlite.repair.texts import any_text, printable
from halo_weave.memory.sqlite.rows import stored_number
from halo_weave.memory.sqlite.table import Table
from halo_weave.memory.sqlite.tree import entries
from halo_weave.records.numbers import text_of_number

Check = Callable[[sqlite3.Connection], Iterator[str]]
NUMBERED = ("chunks", "audit", "journal", "tree_snapshots", "snapshot_chunks", "damaged")
"""Tables whose row ids are never reused."""


def findings(connection: sqlite3.Connection) -> list[str]:
    checks: tuple[Check, ...] = (
        _pages,
        _schema,
        _references,
        _identity,
        *(_rows_of(table) for table in TABLES),
        _positions,
        _forgotten,
        _counters,
        _totals,
        _sequences,
        _members_of_words,
        _outlines,
        _wishes,
        _vectors,
        _token_keys,
        _burials,
        _timeline,
        _notes,
        _tree,
    )
    with any_text(connection):
        return [finding for check in checks for finding in _found_by(check, connection)]


def quick_findings(connection: sqlite3.Connection) -> list[str]:
    """Check every page, but not its content."""
    return [finding for check in (_pages_alone, _counters) for finding in _found_by(check, connection)]


def findings_in_words(connection: sqlite3.Connection) -> list[str]:
    """Check the word index. Use a copy: SQLite treats this check as a write, and other writers would wait for it."""
    return list(_found_by(_words, connection))


def _found_by(check: Check, connection: sqlite3.Connection) -> Iterator[str]:
    try:
        yield from map(printable, check(connection))
    except Exception as error:  # a check that cannot finish is itself a finding
        yield printable(f"The check of {check.__name__.strip('_').replace('_', ' ')} could not be finished: {error}.")


def _pages(connection: sqlite3.Connection) -> Iterator[str]:
    for (message,) in connection.execute("PRAGMA integrity_check"):
        if message != "ok":
            yield f"SQLite reports: {' '.join(message.split())}."


def _pages_alone(connection: sqlite3.Connection) -> Iterator[str]:
    for (message,) in connection.execute("PRAGMA quick_check"):
        if message != "ok":
            yield f"SQLite reports: {' '.join(message.split())}."


def _references(connection: sqlite3.Connection) -> Iterator[str]:
    for table, row, parent, _ in connection.execute("PRAGMA foreign_key_check"):
        yield f"Row {row} of {table} refers to a missing row of {parent}."


def _schema(connection: sqlite3.Connection) -> Iterator[str]:
    """SQLite accepts any schema that it can parse, and a flipped bit may invert a condition."""
    query = "SELECT type, name, tbl_name, sql FROM sqlite_schema"
    present = set(connection.execute(query))
    for kind, name, *_ in sorted(schema_of_new_memory() - present):
        yield f"The {kind} {name} does not match the schema."


def _rows_of(table: Table) -> Check:
    def check(connection: sqlite3.Connection) -> Iterator[str]:
        for damage in damages(connection, table):
            yield f"{damage.problem[:1].upper()}{damage.problem[1:]}."

    check.__name__ = f"rows_of_{table.name}"
    return check


def _positions(connection: sqlite3.Connection) -> Iterator[str]:
    free_from = 0
    query = (
        "SELECT id, first_position, token_count FROM chunks WHERE merged_into IS NULL UNION ALL"
        " SELECT id, first_position, token_count FROM forgotten WHERE first_position IS NOT NULL"
        " ORDER BY first_position"
    )
    for chunk_id, first_position, token_count in connection.execute(query):
        start = stored_number(first_position)
        if start < free_from:
            yield f"The chunk with id {chunk_id} begins at position {text_of_number(start)}, which another chunk has."
        free_from = max(free_from, start + token_count)


def _identity(connection: sqlite3.Connection) -> Iterator[str]:
    settings.identity(connection)
    yield from ()


def _forgotten(connection: sqlite3.Connection) -> Iterator[str]:
    for (chunk_id,) in connection.execute(
        "SELECT chunks.id FROM chunks JOIN forgotten USING (turn, number, role) ORDER BY chunks.id"
    ):
        yield f"The chunk with id {chunk_id} has the key of a permanently removed chunk."


def _counters(connection: sqlite3.Connection) -> Iterator[str]:
    counters = connection.execute("SELECT next_turn, next_position, change FROM counters").fetchall()
    if len(counters) != 1:
        yield f"There are {len(counters)} rows of counters instead of one."
        return
    next_turn, next_position, change = stored_number(counters[0][0]), stored_number(counters[0][1]), counters[0][2]
    last_turn = connection.execute("SELECT turn FROM chunks ORDER BY turn DESC LIMIT 1").fetchone()
    if last_turn is not None and stored_number(last_turn[0]) >= next_turn:
        yield f"The next turn would be {text_of_number(next_turn)}, which is not after all chunks."
    last = connection.execute(
        "SELECT first_position, token_count FROM chunks WHERE merged_into IS NULL ORDER BY first_position DESC LIMIT 1"
    ).fetchone()
    if last is not None and stored_number(last[0]) + last[1] > next_position:
        yield f"The next position would be {text_of_number(next_position)}, which is not after all chunks."
    for table in ("chunks", "vectors"):
        (latest,) = connection.execute(f"SELECT max(change) FROM {table}").fetchone()
        if latest is not None and latest > change:
            yield f"The change number is {change}, but {table} were changed by number {latest}."


def _totals(connection: sqlite3.Connection) -> Iterator[str]:
    yield from totals.findings(connection)


def _sequences(connection: sqlite3.Connection) -> Iterator[str]:
    """Check the sequences by which SQLite never reuses a row id."""
    last = dict(connection.execute("SELECT name, seq FROM sqlite_sequence"))
    for table in NUMBERED:
        (highest,) = connection.execute(f"SELECT max(id) FROM {table}").fetchone()
        if highest is not None and highest > (last.pop(table, None) or 0):
            yield f"The next row of {table} would get a number that has been used before."
    for table in last.keys() - set(NUMBERED):
        yield f"There is a number for rows of {table}, which is not a table of the memory."


def _members_of_words(connection: sqlite3.Connection) -> Iterator[str]:
    for kind, query in (
        ("lacks", "SELECT id FROM searchable EXCEPT SELECT id FROM words_docsize"),
        ("still has", "SELECT id FROM words_docsize EXCEPT SELECT id FROM searchable"),
    ):
        for (chunk_id,) in connection.execute(query):
            yield f"The word index {kind} the chunk with id {chunk_id}."


def _outlines(connection: sqlite3.Connection) -> Iterator[str]:
    yield from outlines.findings(connection)


def _wishes(connection: sqlite3.Connection) -> Iterator[str]:
    yield from wishes.findings(connection)


def _vectors(connection: sqlite3.Connection) -> Iterator[str]:
    for (chunk_id,) in connection.execute(
        "SELECT chunk FROM vectors WHERE vector IS NOT NULL AND chunk NOT IN (SELECT id FROM searchable)"
    ):
        yield f"The chunk with id {chunk_id} is deleted or merged, but still has a vector."
    for chunk_id, name in connection.execute(
        "SELECT chunk, name FROM vectors JOIN embedders ON embedders.id = vectors.embedder WHERE"
        " length(vector) != dimensions * CASE type WHEN 'float16' THEN 2 ELSE 4 END"
    ):
        yield f"The vector of {name} for the chunk with id {chunk_id} has the wrong length."


def _token_keys(connection: sqlite3.Connection) -> Iterator[str]:
    query = "SELECT chunk FROM token_keys WHERE chunk NOT IN (SELECT id FROM searchable)"
    for (chunk_id,) in connection.execute(query):
        yield f"The chunk with id {chunk_id} is deleted or merged, but the reader's keys of it are still there."


def _burials(connection: sqlite3.Connection) -> Iterator[str]:
    yield from burials.findings(connection)


def _timeline(connection: sqlite3.Connection) -> Iterator[str]:
    yield from timeline.findings(connection)


def _notes(connection: sqlite3.Connection) -> Iterator[str]:
    yield from notes.findings(connection)


def _tree(connection: sqlite3.Connection) -> Iterator[str]:
    yield from entries.findings(connection)


def _words(connection: sqlite3.Connection) -> Iterator[str]:
    try:
        connection.execute("INSERT INTO words (words, rank) VALUES ('integrity-check', 1)")
    except sqlite3.DatabaseError as error:
        yield f"The word index does not match the texts: {error}."
