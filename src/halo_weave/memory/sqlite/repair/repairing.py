"""Repair of the SQLite memory: sets damaged rows aside and rebuilds derived data.

Rows with anything that was said or saved are never discarded; they move to the table `damaged`. Vectors, keys,
outlines, wishes, indexes and the word index derive from other rows and are rebuilt.
"""

import sqlite3
from collections.abc import Iterable
from datetime import datetime

from halo_weave.memory.sqlite import settings
from halo_weave.memory.sqlite.counters import read_counters, set_change
from halo_weave.memory.sqlite.repair import mending, set_aside
from halo_weave.memory.sqlite.repair.damage import TABLES, Damage, damages, is_sound, place_of
from halo_weave.memory.sqlite.repair.indexes import indexes_made_again
from halo_weave.memory.sqlite.repair.texts import any_text
from halo_weave.memory.sqlite.table import Table
from halo_weave.memory.sqlite.tree import snapshots
from halo_weave.records.damage import Repaired, SetAside

_COMPUTED = ("vectors", "token_keys")
"""Tables whose rows are computed from texts: damaged rows are removed and computed again."""


def repair(connection: sqlite3.Connection, now: datetime) -> Repaired:
    """Repair within the caller's transaction. Damage in SQLite's own structures remains and may cause a failure."""
    connection.execute("PRAGMA defer_foreign_keys = ON")  # merged chunks may refer to removed rows
    with any_text(connection):
        return _repair(connection, now)


def _repair(connection: sqlite3.Connection, now: datetime) -> Repaired:
    found = [damage for table in TABLES for damage in damages(connection, table)]
    with indexes_made_again(connection):
        kept = _set_aside(connection, now, found)
        for table in TABLES:
            _remove(connection, table, [damage for damage in found if damage.table is table])
    mended = [
        *mending.counters(connection, found),
        *mending.settings(connection, found),
        *mending.merges(connection, found),
        *mending.notes(connection, found, now),
        *mending.tree(connection, now),
    ]
    kept += _set_aside_lost(connection, now, found)
    vectors = sum(damage.table.name in _COMPUTED for damage in found) + mending.vectors(connection)
    mending.sequences(connection)
    mended += mending.derived(connection)
    # Caches elsewhere may be based on rows that no longer exist.
    settings.renew_identity(connection)
    set_change(connection, read_counters(connection).change + 1)
    return Repaired(tuple(kept), tuple(mended), vectors)


def _set_aside(connection: sqlite3.Connection, now: datetime, found: Iterable[Damage]) -> list[SetAside]:
    kept = []
    for damage in found:
        if damage.table.name not in _COMPUTED:
            place = place_of(connection, damage)
            what = f"chunk {place.key}" if damage.table.name == "chunks" and place.key else damage.what
            kept.append(set_aside.add(connection, now, damage.table.name, what, damage.problem, damage.row, place))
    return kept


def _remove(connection: sqlite3.Connection, table: Table, found: list[Damage]) -> None:
    if table.has_rowid:
        for damage in found:
            connection.execute(f"DELETE FROM {table.name} WHERE rowid = ?", (damage.rowid,))
    elif found:
        _write_again(connection, table)


def _write_again(connection: sqlite3.Connection, table: Table) -> None:
    """Rewrite the table with its intact rows only, because a damaged row cannot be found by its primary key."""
    connection.execute(f"CREATE TEMP TABLE sound_rows ({', '.join(table.columns)})")
    rows = connection.execute(f"SELECT {table.listed} FROM {table.name} NOT INDEXED")
    connection.executemany(
        f"INSERT INTO temp.sound_rows VALUES ({', '.join('?' * len(table.columns))})",
        (row for row in rows if is_sound(table, row)),
    )
    connection.execute(f"DELETE FROM {table.name}")
    connection.execute(f"INSERT INTO {table.name} ({', '.join(table.columns)}) SELECT * FROM temp.sound_rows")
    connection.execute("DROP TABLE temp.sound_rows")


def _set_aside_lost(connection: sqlite3.Connection, now: datetime, found: list[Damage]) -> list[SetAside]:
    """Set aside rows that belong to a row that no longer exists."""
    lost: list[tuple[str, str, tuple[str, ...]]] = [
        ("burials", "window NOT IN (SELECT id FROM windows)", ()),
        ("timeline", "window NOT IN (SELECT id FROM windows)", ()),
        ("window_places", "window NOT IN (SELECT id FROM windows)", ()),
        ("tree_snapshots", snapshots.LOST, ()),
        ("snapshot_chunks", snapshots.UNUSED, ()),
    ]
    windows = [damage.row["id"] for damage in found if damage.table.name == "windows"]
    lost += [("journal", "window = ?", (window_id,)) for window_id in windows if isinstance(window_id, str)]
    # Without one of its entries a timeline no longer leads from the present to the past.
    broken = {damage.row["window"] for damage in found if damage.table.name == "timeline"}
    lost += [("timeline", "window = ?", (window_id,)) for window_id in broken if isinstance(window_id, str)]
    tables = {table.name: table for table in TABLES}
    kept = []
    for name, where, parameters in lost:
        query = f"SELECT {tables[name].listed} FROM {name} WHERE {where}"
        rows = connection.execute(query, parameters).fetchall()
        kept += _set_aside(
            connection, now, [Damage(tables[name], None, row, "the row it belongs to is missing") for row in rows]
        )
        connection.execute(f"DELETE FROM {name} WHERE {where}", parameters)
    return kept
