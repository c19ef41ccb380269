"""Stages rows of another memory in a file beside the SQLite memory.

Everything slow happens before the memory is locked: reading, checking and packing. The final transaction runs a few
statements that check the rows against the memory and copy them, in a fraction of the time. Until then, others can
write, and a failure leaves nothing behind in the memory.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from halo_weave.errors import StoreConflict, StoreUnavailable
from halo_weave.memory.files.partial import partial_file
from halo_weave.memory.sqlite import wishes
from halo_weave.memory.sqlite.errors import read_only, store_error
from halo_weave.memory.sqlite.rows import Row, row_of_chunk, stored_number
from halo_weave.records.chunks import Record
from halo_weave.records.numbers import key_of_number, text_of_number

SCHEMA = "arrivals"
"""The schema name under which the file is attached to the memory."""
_LATER = ("merged_into", "change")
"""Columns that only the memory can fill in."""
FIELDS = tuple(name for name in Row._fields if name not in _LATER)
_FORM = f"""
CREATE TABLE arriving (
    id INTEGER PRIMARY KEY, {", ".join(FIELDS)}, last_position, target, is_wish, UNIQUE (turn, number, role)
)
"""
_INSERT = f"INSERT INTO arriving VALUES (NULL, {', '.join('?' * (len(FIELDS) + 3))})"


class Arrival(NamedTuple):
    """A merged-away row; `target` is the index of the chunk, of the same turn and role, that it was merged into."""

    row: Row
    target: int


@contextmanager
def set_aside(memory: Path, records: Iterable[Record]) -> Iterator[Path]:
    """Provide a file with the rows of these records. Raises StoreConflict if two of them share a key or a position."""
    try:
        with partial_file(memory.parent) as file:
            with closing(sqlite3.connect(file, isolation_level=None)) as connection:
                _fill(connection, records)
                _require_apart(connection)
            yield file
    except sqlite3.Error as error:
        raise store_error(memory, error) from error
    except PermissionError as error:
        raise read_only(memory) from error
    except OSError as error:
        raise StoreUnavailable(f"The memory {memory} needs a writable folder: {error.strerror}.") from error


def merged(connection: sqlite3.Connection, change: int) -> Iterator[Arrival]:
    """Yield the merged-away rows of the attached file, in the order of their records."""
    rows = connection.execute(
        f"SELECT {', '.join(FIELDS)}, target FROM {SCHEMA}.arriving WHERE target IS NOT NULL ORDER BY id"
    ).fetchall()
    for *values, target in rows:
        yield Arrival(Row(**dict(zip(FIELDS, values, strict=True)), merged_into=None, change=change), target)


def _fill(connection: sqlite3.Connection, records: Iterable[Record]) -> None:
    for pragma in ("synchronous = OFF", "journal_mode = OFF"):
        connection.execute(f"PRAGMA {pragma}")
    connection.execute(_FORM)
    connection.execute("BEGIN")
    for record in records:
        row = row_of_chunk(record.chunk, change=0)
        try:
            connection.execute(_INSERT, _values(row, record.merged_into))
        except sqlite3.IntegrityError:
            raise StoreConflict(f"Chunk {row.key} occurs twice; nothing was written.") from None
    connection.execute("COMMIT")


def _values(row: Row, target: int | None) -> tuple[Any, ...]:
    is_wishing = target is None and wishes.is_of_user(row.role, row.text)
    return *(getattr(row, name) for name in FIELDS), key_of_number(row.end - 1), target, is_wishing


def _require_apart(connection: sqlite3.Connection) -> None:
    free_from = 0
    for first, last in connection.execute(
        "SELECT first_position, last_position FROM arriving WHERE target IS NULL ORDER BY first_position"
    ):
        if (start := stored_number(first)) < free_from:
            raise StoreConflict(f"Two chunks have position {text_of_number(start)}; nothing was written.")
        free_from = stored_number(last) + 1
