"""The chunks table: finding, inserting and updating rows, and checking what callers may do with them."""

import itertools
import sqlite3
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Any

from halo_weave.errors import InputError, StoreConflict
from halo_weave.memory.sqlite import wishes
from halo_weave.memory.sqlite.counters import Counters
from halo_weave.memory.sqlite.rows import (
    COLUMNS,
    DamagedRow,
    Row,
    checksum,
    chunk_of_row,
    sound_row,
    stored_number,
)
from halo_weave.memory.sqlite.table import Table
from halo_weave.records.chunks import ChunkKey, PlacedToken, Stored
from halo_weave.records.numbers import key_of_number, require_number, text_of_number
from halo_weave.records.packing import pack, unpack

_EMBEDDER = (
    "(SELECT name FROM vectors JOIN embedders ON embedders.id = vectors.embedder"
    " WHERE vectors.chunk = chunks.id AND vector IS NOT NULL ORDER BY vectors.change DESC LIMIT 1)"
)
SELECT_STORED = f"SELECT id, {_EMBEDDER}, {COLUMNS} FROM chunks"
_SELECT_ROW = f"SELECT id, {COLUMNS} FROM chunks"
_INSERT = f"INSERT INTO chunks ({', '.join(Row._fields)}, checksum) VALUES ({', '.join('?' * (len(Row._fields) + 1))})"
_AT_ONCE = 300
"""Keys per query. Older SQLite builds accept at most 999 parameters."""
_CHANGING = (
    "token_count",
    "text",
    "token_ids",
    "piece_lengths",
    "deleted",
    "deleted_at",
    "undeleted_at",
    "merged_into",
    "change",
)
_UPDATE = f"UPDATE chunks SET {', '.join(f'{name} = ?' for name in _CHANGING)}, checksum = ? WHERE id = ?"


def stored_of(columns: tuple[Any, ...]) -> Stored:
    chunk_id, embedder, *row = columns
    return Stored(chunk_id, chunk_of_row(sound_row(chunk_id, tuple(row)), embedder))


def stored_by_keys(connection: sqlite3.Connection, keys: Iterable[ChunkKey]) -> Iterator[Stored]:
    wanted = list(dict.fromkeys(keys))
    for start in range(0, len(wanted), _AT_ONCE):
        some = wanted[start : start + _AT_ONCE]
        values = ", ".join(["(?, ?, ?)"] * len(some))
        query = f"{SELECT_STORED} WHERE (turn, number, role) IN (VALUES {values}) AND merged_into IS NULL"
        columns = [column for key in some for column in (key_of_number(key.turn), key.index, key.role)]
        yield from map(stored_of, connection.execute(query, columns))


def stored_of_turns(connection: sqlite3.Connection, turns: Iterable[int]) -> list[Stored]:
    wanted = list(dict.fromkeys(turns))
    found: list[Stored] = []
    for start in range(0, len(wanted), _AT_ONCE):
        some = [key_of_number(turn) for turn in wanted[start : start + _AT_ONCE]]
        query = f"{SELECT_STORED} WHERE turn IN ({', '.join('?' * len(some))}) AND merged_into IS NULL"
        found += map(stored_of, connection.execute(query, some))
    return sorted(found, key=lambda stored: stored.chunk.first_position)


def insert(connection: sqlite3.Connection, row: Row, *, is_wish: bool) -> int:
    chunk_id = connection.execute(_INSERT, (*row, checksum(row))).lastrowid
    assert chunk_id is not None
    wishes.note(connection, chunk_id, is_wish=is_wish)
    return chunk_id


def update(connection: sqlite3.Connection, chunk_id: int, row: Row) -> None:
    """The caller must record whether a changed text is a wish."""
    connection.execute(_UPDATE, (*(getattr(row, name) for name in _CHANGING), checksum(row), chunk_id))


def mark_changed(connection: sqlite3.Connection, ids: Iterable[int], change: int) -> None:
    for chunk_id in ids:
        found = connection.execute(f"{_SELECT_ROW} WHERE id = ?", (chunk_id,)).fetchone()
        if found is not None:
            update(connection, chunk_id, sound_row(chunk_id, found[1:])._replace(change=change))


def find(connection: sqlite3.Connection, turn: bytes, number: int, role: str) -> tuple[int, Row] | None:
    """Return the chunk's id and row, even if it was merged away."""
    found = connection.execute(
        f"{_SELECT_ROW} WHERE turn = ? AND number = ? AND role = ?", (turn, number, role)
    ).fetchone()
    return None if found is None else (found[0], sound_row(found[0], found[1:]))


def row_of_id(connection: sqlite3.Connection, chunk_id: int) -> Row:
    _, *columns = connection.execute(f"{_SELECT_ROW} WHERE id = ?", (chunk_id,)).fetchone()
    return sound_row(chunk_id, tuple(columns))


def existing(connection: sqlite3.Connection, key: ChunkKey) -> tuple[int, Row]:
    found = find(connection, key_of_number(key.turn), key.index, key.role)
    if found is None:
        raise InputError(f"There is no chunk {key}; nothing was changed.")
    if found[1].merged_into is not None:
        raise InputError(f"Chunk {key} was merged into the one before it; nothing was changed.")
    return found


def row_at_or_before(connection: sqlite3.Connection, position: int) -> Row | None:
    found = connection.execute(
        f"{_SELECT_ROW} WHERE merged_into IS NULL AND first_position <= ? ORDER BY first_position DESC LIMIT 1",
        (key_of_number(position),),
    ).fetchone()
    return None if found is None else sound_row(found[0], found[1:])


def _start_behind(connection: sqlite3.Connection, position: int) -> int | None:
    found = connection.execute(
        "SELECT first_position FROM chunks WHERE merged_into IS NULL AND first_position > ?"
        " ORDER BY first_position LIMIT 1",
        (key_of_number(position),),
    ).fetchone()
    return None if found is None else stored_number(found[0])


def sorted_positions(positions: Iterable[int]) -> list[int]:
    wanted = list(positions)
    for position in wanted:
        require_number(position)
    return sorted(set(wanted))


def tokens_at(connection: sqlite3.Connection, wanted: list[int], *, include_deleted: bool) -> list[PlacedToken]:
    """`wanted` must be in ascending order."""
    tokens: list[PlacedToken] = []
    done = 0
    while done < len(wanted):
        row = row_at_or_before(connection, wanted[done])
        if row is not None and (end := row.end) > wanted[done]:
            following = bisect_left(wanted, end, done)
            if include_deleted or not row.deleted:
                tokens += _placed(row, wanted[done:following])
        else:
            start = _start_behind(connection, wanted[done])
            following = len(wanted) if start is None else bisect_left(wanted, start, done)
        done = following
    return tokens


def _placed(row: Row, positions: list[int]) -> Iterator[PlacedToken]:
    start, text = row.start, row.text
    places = [position - start for position in positions]
    ids = unpack(row.token_ids)[places].tolist()
    ends = list(itertools.accumulate(unpack(row.piece_lengths).tolist(), initial=0))
    pieces = [text[ends[place] : ends[place + 1]] for place in places]
    return map(PlacedToken, positions, ids, pieces, itertools.repeat(row.key))


def require_given_out(row: Row, counters: Counters) -> None:
    if row.key.turn >= counters.next_turn:
        raise InputError(f"Turn {text_of_number(row.key.turn)} was never reserved; nothing was written.")
    if row.end > counters.next_position:
        raise InputError(f"Position {text_of_number(row.end - 1)} was never reserved; nothing was written.")


def require_new(connection: sqlite3.Connection, row: Row) -> None:
    if find(connection, row.turn, row.number, row.role) is not None:
        raise StoreConflict(f"Chunk {row.key} is already in the memory; nothing was written.")
    earlier = row_at_or_before(connection, row.end - 1)
    if earlier is not None and earlier.end > row.start:
        raise StoreConflict(
            f"Chunk {row.key} would begin at position {text_of_number(row.start)}, but chunk {earlier.key} has "
            f"positions {text_of_number(earlier.start)} to {text_of_number(earlier.end - 1)}; nothing was written."
        )


def with_deletion(row: Row, deleted: bool, time: int) -> Row:
    return row._replace(deleted=1, deleted_at=time) if deleted else row._replace(deleted=0, undeleted_at=time)


def require_mergeable(left: Row, right: Row) -> None:
    reason = None
    if (left.turn, left.role) != (right.turn, right.role):
        reason = "belong to different turns or roles"
    elif left.end != right.start:
        reason = "are not adjacent"
    elif left.deleted or right.deleted:
        reason = "are not both present; undelete the deleted one first"
    if reason:
        raise InputError(f"Chunks {left.key} and {right.key} cannot be merged: they {reason}; nothing was changed.")


def merged(left: Row, right: Row) -> Row:
    return left._replace(
        token_count=left.token_count + right.token_count,
        text=left.text + right.text,
        token_ids=pack([*unpack(left.token_ids).tolist(), *unpack(right.token_ids).tolist()]),
        piece_lengths=pack([*unpack(left.piece_lengths).tolist(), *unpack(right.piece_lengths).tolist()]),
    )


def _require_sound(columns: tuple[Any, ...]) -> None:
    row = sound_row(columns[0], columns[1:])
    if chunk_of_row(row, None).token_count != row.token_count:
        raise DamagedRow(f"the chunk with id {columns[0]} has an inconsistent number of tokens")


TABLE = Table("chunks", ("id", *Row._fields, "checksum"), _require_sound, lambda row: f"the chunk with id {row['id']}")
