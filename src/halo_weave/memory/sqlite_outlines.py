"""What a search has to know about many chunks of the SQLite memory, without their texts."""

import sqlite3
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from halo_weave.memory.records import Outline
from halo_weave.memory.sqlite_rows import microseconds, stored_number, time_of_microseconds
from halo_weave.text import speakers

_SMALLEST, _LARGEST = -(2**63), 2**63 - 1


def by_ids(connection: sqlite3.Connection, ids: Sequence[int], *, with_metadata: bool) -> list[Outline]:
    return _outlines(
        connection,
        "merged_into IS NULL AND id IN (SELECT value FROM json_each(?))",
        (msgspec.json.encode(list(ids)).decode(),),
        with_metadata,
    )


def between(
    connection: sqlite3.Connection, since: datetime | None, until: datetime | None, most: int, *, with_metadata: bool
) -> list[Outline] | None:
    times = (_SMALLEST if since is None else microseconds(since), _LARGEST if until is None else microseconds(until))
    # This one reads nothing but the index of times.
    (count,) = connection.execute(
        "SELECT count(*) FROM (SELECT 1 FROM chunks WHERE time >= ? AND time < ? LIMIT ?)", (*times, most + 1)
    ).fetchone()
    if count > most:
        return None
    where = "merged_into IS NULL AND deleted = 0 AND time >= ? AND time < ? ORDER BY time, id"
    return _outlines(connection, where, times, with_metadata)


def _outlines(
    connection: sqlite3.Connection, where: str, parameters: tuple[Any, ...], with_metadata: bool
) -> list[Outline]:
    metadata = "metadata" if with_metadata else "NULL"
    rows = connection.execute(
        "SELECT id, role, first_position, time, deleted,"
        " (SELECT max(number) + 1 FROM chunks AS beside WHERE beside.turn = chunks.turn),"
        " substr(CASE number WHEN 0 THEN text ELSE (SELECT text FROM chunks AS opening"
        " WHERE opening.turn = chunks.turn AND opening.number = 0 AND opening.role = chunks.role) END,"
        f" 1, {speakers.LONGEST}), {metadata}"
        f" FROM chunks WHERE {where}",
        parameters,
    )
    return [
        Outline(
            chunk_id,
            role,
            stored_number(position),
            time_of_microseconds(time),
            bool(deleted),
            turn_chunks,
            None if opening is None else speakers.speaker_of(opening),
            None if text is None else msgspec.json.decode(text),
        )
        for chunk_id, role, position, time, deleted, turn_chunks, opening, text in rows
    ]
