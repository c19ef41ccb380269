"""Burials of windows in the SQLite memory, found by key, in order of time, and between positions."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from halo_weave.memory.sqlite.rows import checksum, microseconds, require_sound, stored_number, time_of_microseconds
from halo_weave.memory.sqlite.table import Table
from halo_weave.records.chunks import ChunkKey
from halo_weave.records.numbers import key_of_number
from halo_weave.records.windows import BurialGap, BurialPlace, BurialRecord

_COLUMNS = "window, turn, number, role, first_position, peak, reason, time, brightness"
_REPLACE = f"REPLACE INTO burials ({_COLUMNS}, checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_OF_KEY = "window = ? AND turn = ? AND number = ? AND role = ?"
_BEFORE_ALL, _BEHIND_ALL = b"", b"\xff" * 9
"""Below and above the keys of all numbers."""
# CROSS JOIN fixes the join order: burials first, because there are more chunks than burials, and many belong to other
# windows. Both sides are read from their indexes alone.
_BETWEEN = (
    "FROM burials CROSS JOIN chunks ON chunks.first_position = burials.first_position"
    " WHERE burials.window = ? AND burials.first_position > ? AND burials.first_position < ?"
    " AND chunks.merged_into IS NULL AND chunks.deleted = 0"
)
_KEY_BETWEEN = f"SELECT burials.turn, burials.number, burials.role {_BETWEEN}"


def change(
    connection: sqlite3.Connection, window_id: str, buried: Iterable[BurialRecord], raised: Iterable[ChunkKey]
) -> None:
    for key in raised:
        connection.execute(f"DELETE FROM burials WHERE {_OF_KEY}", (window_id, *_columns_of(key)))
    for burial in buried:
        row = (
            window_id,
            *_columns_of(burial.key),
            key_of_number(burial.first_position),
            float(burial.peak),
            burial.reason,
            microseconds(burial.time),
            burial.brightness or None,
        )
        connection.execute(_REPLACE, (*row, checksum(_summed(row))))


def page(connection: sqlite3.Connection, window_id: str, before: BurialPlace | None, limit: int) -> list[BurialRecord]:
    where = ""
    parameters: list[str | bytes | int] = [window_id]
    if before is not None:
        where = "AND (time, turn, number, role) < (?, ?, ?, ?)"
        parameters += [microseconds(before.time), *_columns_of(before.key)]
    query = (
        f"SELECT {_COLUMNS}, checksum FROM burials WHERE window = ? {where}"
        " ORDER BY time DESC, turn DESC, number DESC, role DESC LIMIT ?"
    )
    return [_sound(row) for row in connection.execute(query, [*parameters, limit])]


def by_keys(connection: sqlite3.Connection, window_id: str, keys: Iterable[ChunkKey]) -> dict[ChunkKey, BurialRecord]:
    query = f"SELECT {_COLUMNS}, checksum FROM burials WHERE {_OF_KEY}"
    rows = (connection.execute(query, (window_id, *_columns_of(key))).fetchone() for key in dict.fromkeys(keys))
    return {burial.key: burial for burial in (_sound(row) for row in rows if row is not None)}


def count(connection: sqlite3.Connection, window_id: str) -> int:
    (number,) = connection.execute("SELECT count(*) FROM burials WHERE window = ?", (window_id,)).fetchone()
    return int(number)


def gaps(connection: sqlite3.Connection, window_id: str, positions: Sequence[int], keys: int) -> list[BurialGap | None]:
    bounds = [_BEFORE_ALL, *map(key_of_number, positions), _BEHIND_ALL]
    return [_gap(connection, (window_id, start, end), keys) for start, end in pairwise(bounds)]


def remove_of_window(connection: sqlite3.Connection, window_id: str) -> None:
    connection.execute("DELETE FROM burials WHERE window = ?", (window_id,))


def remove_of_chunk(connection: sqlite3.Connection, chunk_id: int) -> None:
    connection.execute(
        "DELETE FROM burials WHERE window IN (SELECT id FROM windows)"
        " AND (turn, number, role) = (SELECT turn, number, role FROM chunks WHERE id = ?)",
        (chunk_id,),
    )


def findings(connection: sqlite3.Connection) -> Iterator[str]:
    query = "SELECT DISTINCT window FROM burials WHERE window NOT IN (SELECT id FROM windows)"
    for (window_id,) in connection.execute(query):
        yield f"There are burials of the window {window_id}, which does not exist."


def _gap(connection: sqlite3.Connection, between: tuple[str, bytes, bytes], keys: int) -> BurialGap | None:
    query = (
        f"SELECT count(*), sum(chunks.token_count), min(chunks.time), max(chunks.time), max(burials.time) {_BETWEEN}"
    )
    chunks, tokens, since, until, latest = connection.execute(query, between).fetchone()
    if not chunks:
        return None
    newest = connection.execute(
        f"{_KEY_BETWEEN} AND burials.time = ? ORDER BY burials.first_position LIMIT 1", (*between, latest)
    ).fetchone()
    row = connection.execute(
        f"SELECT {_COLUMNS}, checksum FROM burials WHERE {_OF_KEY}", (between[0], *newest)
    ).fetchone()
    first = connection.execute(f"{_KEY_BETWEEN} ORDER BY burials.first_position LIMIT ?", (*between, keys))
    return BurialGap(
        chunks=chunks,
        tokens=tokens,
        since=time_of_microseconds(since),
        until=time_of_microseconds(until),
        newest=_sound(row),
        keys=tuple(ChunkKey(stored_number(turn), number, role) for turn, number, role in first),
    )


def _columns_of(key: ChunkKey) -> tuple[bytes, int, str]:
    return key_of_number(key.turn), key.index, key.role


def _sound(row: tuple[Any, ...]) -> BurialRecord:
    window_id, turn, number, role, first_position, peak, reason, time, brightness, written = row
    require_sound((*_summed(row[:-1]), written), f"a burial in the window {window_id} does not match its checksum")
    key = ChunkKey(stored_number(turn), number, role)
    position, buried_at = stored_number(first_position), time_of_microseconds(time)
    return BurialRecord(key, position, peak, reason, buried_at, brightness or b"")


def _summed(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the columns that the checksum covers: rows of earlier versions have no brightness."""
    return row if row[-1] is not None else row[:-1]


TABLE = Table(
    "burials",
    (*_COLUMNS.split(", "), "checksum"),
    _sound,
    lambda row: f"a burial in the window {row['window']}",
    has_rowid=False,
)
