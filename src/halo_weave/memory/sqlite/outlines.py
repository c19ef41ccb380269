"""Outlines: the fields that a search needs of many chunks, without their texts.

Database triggers keep the outlines in step with the chunks.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import msgspec

from halo_weave.memory.sqlite.rows import microseconds, stored_number, time_of_microseconds
from halo_weave.records.chunks import Outline
from halo_weave.text.languages import speakers

_SMALLEST, _LARGEST = -(2**63), 2**63 - 1


def by_ids(connection: sqlite3.Connection, ids: Sequence[int], *, with_metadata: bool) -> list[Outline]:
    where = "id IN (SELECT value FROM json_each(?))"
    return _outlines(connection, where, (msgspec.json.encode(list(ids)).decode(),), with_metadata)


def between(
    connection: sqlite3.Connection, since: datetime | None, until: datetime | None, most: int, *, with_metadata: bool
) -> list[Outline] | None:
    times = (_SMALLEST if since is None else microseconds(since), _LARGEST if until is None else microseconds(until))
    # This reads only the index of chunk times.
    (count,) = connection.execute(
        "SELECT count(*) FROM (SELECT 1 FROM chunks WHERE time >= ? AND time < ? LIMIT ?)", (*times, most + 1)
    ).fetchone()
    if count > most:
        return None
    where = "deleted = 0 AND id IN (SELECT id FROM chunks WHERE time >= ? AND time < ?) ORDER BY time, id"
    return _outlines(connection, where, times, with_metadata)


def findings(connection: sqlite3.Connection) -> Iterator[str]:
    """Report where the outlines differ from the chunks."""
    columns = "id, turn, role, first_position, time, deleted"
    for kind, query in (
        ("no", f"SELECT {columns} FROM chunks WHERE merged_into IS NULL EXCEPT SELECT {columns} FROM outlines"),
        ("a wrong", f"SELECT {columns} FROM outlines EXCEPT SELECT {columns} FROM chunks WHERE merged_into IS NULL"),
    ):
        for chunk_id, *_ in connection.execute(query):
            yield f"There is {kind} outline of the chunk with id {chunk_id}."
    openings = (
        f"SELECT outlines.id, outlines.opening, substr(opening.text, 1, {speakers.LONGEST}) FROM outlines"
        " LEFT JOIN chunks AS opening"
        " ON opening.turn = outlines.turn AND opening.number = 0 AND opening.role = outlines.role"
    )
    for chunk_id, kept, text in connection.execute(openings):
        if _speaker(kept) != _speaker(text):
            yield f"The outline of the chunk with id {chunk_id} does not match the beginning of its turn."


def _outlines(
    connection: sqlite3.Connection, where: str, parameters: tuple[Any, ...], with_metadata: bool
) -> list[Outline]:
    metadata = "(SELECT metadata FROM chunks WHERE chunks.id = outlines.id)" if with_metadata else "NULL"
    rows = connection.execute(
        "SELECT id, role, first_position, time, deleted,"
        f" (SELECT max(number) + 1 FROM chunks WHERE chunks.turn = outlines.turn), opening, {metadata}"
        f" FROM outlines WHERE {where}",
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
            _speaker(opening),
            None if text is None else msgspec.json.decode(text),
        )
        for chunk_id, role, position, time, deleted, turn_chunks, opening, text in rows
    ]


def _speaker(opening: str | None) -> str | None:
    return None if opening is None else speakers.speaker_of(opening)
