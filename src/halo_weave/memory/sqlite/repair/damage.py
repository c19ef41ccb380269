"""Finds rows that do not match their checksum, in all tables of the SQLite memory."""

import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from halo_weave.memory.sqlite import (
    audit,
    burials,
    chunks,
    counters,
    forgetting,
    notes,
    settings,
    timeline,
    token_keys,
    vectors,
    windows,
)
from halo_weave.memory.sqlite.repair.set_aside import Place
from halo_weave.memory.sqlite.repair.texts import printable
from halo_weave.memory.sqlite.rows import DamagedRow, stored_number
from halo_weave.memory.sqlite.table import Table
from halo_weave.memory.sqlite.tree import entries, snapshot_rows
from halo_weave.records.packing import packed_count
from halo_weave.records.roles import ROLES

_MOST_TOKENS = 1_000_000
"""No chunk has more. Without this limit, a damaged count could reserve an enormous range of positions."""

TABLES = (
    counters.TABLE,
    settings.TABLE,
    chunks.TABLE,
    forgetting.TABLE,
    audit.TABLE,
    vectors.EMBEDDERS,
    vectors.VECTORS,
    token_keys.TABLE,
    *windows.TABLES,
    burials.TABLE,
    timeline.TABLE,
    notes.TABLE,
    *entries.TABLES,
    snapshot_rows.SHARED,
    snapshot_rows.REFERENCES,
)


class Damage(NamedTuple):
    """A damaged row. `rowid` is None in a table without rowids. `problem` is a clause without a full stop."""

    table: Table
    rowid: int | None
    columns: tuple[Any, ...]
    problem: str

    @property
    def row(self) -> dict[str, Any]:
        return dict(zip(self.table.columns, self.columns, strict=True))

    @property
    def what(self) -> str:
        return printable(self.table.describe(self.row))


def damages(connection: sqlite3.Connection, table: Table) -> Iterator[Damage]:
    """Yield the damaged rows of a table. Call this inside `any_text`."""
    number = "rowid" if table.has_rowid else "NULL"
    # Without indexes, because they may contradict the table.
    for rowid, *columns in connection.execute(f"SELECT {number}, {table.listed} FROM {table.name} NOT INDEXED"):
        problem = _problem(table, tuple(columns))
        if problem is not None:
            yield Damage(table, rowid, tuple(columns), problem)


def is_sound(table: Table, columns: tuple[Any, ...]) -> bool:
    return _problem(table, columns) is None


def place_of(connection: sqlite3.Connection, damage: Damage) -> Place:
    """Return what is known of the row's key and positions. The outline of a chunk is a second source."""
    row = damage.row
    if "first_position" not in row:
        return Place()
    if damage.table is chunks.TABLE:
        query = "SELECT turn, role, first_position FROM outlines WHERE id = ?"
        outline = connection.execute(query, (row["id"],)).fetchone()
        row |= {} if outline is None else dict(zip(("turn", "role", "first_position"), outline, strict=True))
    turn, first, count = row["turn"], row["first_position"], _token_count(row)
    has_positions = _is_number(first) and count is not None
    return Place(
        turn=turn if _is_number(turn) else None,
        number=row["number"] if isinstance(row["number"], int) else None,
        role=row["role"] if row["role"] in ROLES else None,
        first_position=first if has_positions else None,
        token_count=count if has_positions else None,
    )


def _token_count(row: Mapping[str, Any]) -> int | None:
    try:
        return packed_count(row["token_ids"])
    except (KeyError, TypeError, IndexError, ZeroDivisionError):
        count = row.get("token_count")
        return count if isinstance(count, int) and 0 < count <= _MOST_TOKENS else None


def _is_number(key: Any) -> bool:
    try:
        stored_number(key)
    except (DamagedRow, TypeError, IndexError):
        return False
    return True


def _problem(table: Table, columns: tuple[Any, ...]) -> str | None:
    try:
        table.read(columns)
    except DamagedRow as error:
        return printable(str(error))
    except Exception as error:  # whatever the reader raises, the row is to blame
        row = dict(zip(table.columns, columns, strict=True))
        return printable(f"{table.describe(row)} cannot be read: {error}").removesuffix(".")
    return None
