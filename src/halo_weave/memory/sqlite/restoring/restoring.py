"""Writes records of another memory unchanged into the SQLite memory.

The records are in an attached file (see `arrivals`) and are copied by a few statements, because other writers wait for
this transaction.
"""

import sqlite3
from collections.abc import Iterable

from halo_weave.errors import InputError, StoreConflict
from halo_weave.memory.sqlite import audit as sqlite_audit
from halo_weave.memory.sqlite import wishes
from halo_weave.memory.sqlite.chunks import find, insert
from halo_weave.memory.sqlite.counters import read_counters, set_change
from halo_weave.memory.sqlite.forgetting import is_forgotten
from halo_weave.memory.sqlite.repair import set_aside
from halo_weave.memory.sqlite.restoring.arrivals import FIELDS, SCHEMA, Arrival, merged
from halo_weave.memory.sqlite.rows import checksum, stored_number
from halo_weave.records.chunks import AuditEntry, ChunkKey
from halo_weave.records.numbers import key_of_number, text_of_number

_ARE_NEW = (
    "NOT EXISTS (SELECT 1 FROM forgotten WHERE forgotten.turn = arriving.turn"
    " AND forgotten.number = arriving.number AND forgotten.role = arriving.role)"
)
_NEW = f"{SCHEMA}.arriving WHERE target IS NULL AND {_ARE_NEW}"
_COLUMNS = ", ".join(FIELDS)
_IN_PLACE = (
    "SELECT arriving.turn, arriving.number, arriving.role, arriving.first_position, taken.first_position,"
    f" taken.token_count FROM {SCHEMA}.arriving JOIN {{table}} AS taken ON taken.id ="
    " (SELECT id FROM {table} WHERE {has_positions} AND first_position <= arriving.last_position"
    f" ORDER BY first_position DESC LIMIT 1) WHERE target IS NULL AND {_ARE_NEW}"
    " AND ends_behind(taken.first_position, taken.token_count, arriving.first_position) LIMIT 1"
)


def restore(connection: sqlite3.Connection, audit: Iterable[AuditEntry]) -> None:
    connection.create_function("chunk_checksum", -1, lambda *row: checksum(row), deterministic=True)
    connection.create_function("ends_behind", 3, _ends_behind, deterministic=True)
    (last_id,) = connection.execute("SELECT ifnull(max(id), 0) FROM chunks").fetchone()
    change = read_counters(connection).change + 1
    _require_given_out(connection)
    _require_keys_free(connection)
    _require_positions_free(connection)
    _require_none_set_aside(connection)
    is_changed = _copy(connection, change)
    for arrival in merged(connection, change):
        is_changed = _insert_merged(connection, arrival) or is_changed
    if is_changed:
        set_change(connection, change)
    sqlite_audit.restore(connection, audit, last_id)


def _ends_behind(first_position: bytes, token_count: int, position: bytes) -> bool:
    return stored_number(first_position) + token_count > stored_number(position)


def _require_given_out(connection: sqlite3.Connection) -> None:
    counters = read_counters(connection)
    turn, position = connection.execute(f"SELECT max(turn), max(last_position) FROM {SCHEMA}.arriving").fetchone()
    if turn is not None and stored_number(turn) >= counters.next_turn:
        raise InputError(f"Turn {text_of_number(stored_number(turn))} was never reserved; nothing was written.")
    if position is not None and stored_number(position) >= counters.next_position:
        raise InputError(f"Position {text_of_number(stored_number(position))} was never reserved; nothing was written.")


def _require_keys_free(connection: sqlite3.Connection) -> None:
    taken = connection.execute(
        f"SELECT turn, number, role FROM {SCHEMA}.arriving JOIN chunks USING (turn, number, role) LIMIT 1"
    ).fetchone()
    if taken is not None:
        raise StoreConflict(f"Chunk {_key(*taken)} is already in the memory; nothing was written.")


def _require_positions_free(connection: sqlite3.Connection) -> None:
    for table, has_positions, words in (
        ("chunks", "merged_into IS NULL", "belong to another chunk"),
        ("forgotten", "first_position IS NOT NULL", "were permanently removed and are never reused"),
    ):
        taken = connection.execute(_IN_PLACE.format(table=table, has_positions=has_positions)).fetchone()
        if taken is not None:
            turn, number, role, start, first, count = taken
            raise StoreConflict(
                f"Chunk {_key(turn, number, role)} would begin at position {text_of_number(stored_number(start))}, but"
                f" positions {text_of_number(stored_number(first))} to"
                f" {text_of_number(stored_number(first) + count - 1)} {words}; nothing was written."
            )


def _require_none_set_aside(connection: sqlite3.Connection) -> None:
    """Raise if a different chunk that was set aside as damaged has these positions. The chunk itself may come back."""
    for place in set_aside.places(connection):
        taken = connection.execute(
            f"SELECT turn, number, role, first_position FROM {_NEW} AND first_position < ? AND last_position >= ?"
            " AND (turn IS NOT ? OR role IS NOT ?) LIMIT 1",
            (key_of_number(place.end), place.first_position, place.turn, place.role),
        ).fetchone()
        if taken is not None:
            raise set_aside.conflict(_key(*taken[:3]), stored_number(taken[3]))


def _key(turn: bytes, number: int, role: str) -> ChunkKey:
    return ChunkKey(stored_number(turn), number, role)  # type: ignore[arg-type]


def _copy(connection: sqlite3.Connection, change: int) -> bool:
    (last,) = connection.execute("SELECT ifnull(max(seq), 0) FROM sqlite_sequence WHERE name = 'chunks'").fetchone()
    copied = connection.execute(
        f"INSERT INTO chunks (id, {_COLUMNS}, merged_into, change, checksum)"
        f" SELECT ?1 + id, {_COLUMNS}, NULL, ?2, chunk_checksum({_COLUMNS}, NULL, ?2) FROM {_NEW} ORDER BY id",
        (last, change),
    )
    connection.execute(f"INSERT OR IGNORE INTO wishes SELECT ?1 + id FROM {_NEW} AND is_wish", (last,))
    return copied.rowcount > 0


def _insert_merged(connection: sqlite3.Connection, arrival: Arrival) -> bool:
    """Insert a merged-away chunk; False if it was forgotten here."""
    row = arrival.row
    if is_forgotten(connection, row):
        return False
    target = find(connection, row.turn, arrival.target, row.role)
    if target is None or not target[1].start < row.start < row.end <= target[1].end:
        raise InputError(f"Chunk {row.key} is not part of the chunk that it was merged into; nothing was changed.")
    is_wish = wishes.is_of_user(row.role, row.text)
    insert(connection, row._replace(merged_into=target[0]), is_wish=is_wish)
    return True
