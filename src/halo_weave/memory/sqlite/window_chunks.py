"""The chunks that a window wrote, page by page in the order of its conversation, found by an index."""

import sqlite3
from collections.abc import Iterable
from typing import Any

from halo_weave.memory.sqlite.chunks import stored_of
from halo_weave.memory.sqlite.rows import COLUMNS
from halo_weave.memory.sqlite.schema.step_13_chunks_of_windows import WRITER
from halo_weave.records.chunks import ChunkKey, Stored
from halo_weave.records.numbers import key_of_number
from halo_weave.records.windows import ChunkPage

# Without its embedder, which nobody asks for here. The conditions are those of the index, or it would not be used.
_OWN = f"SELECT id, NULL, {COLUMNS} FROM chunks WHERE {WRITER} = ? AND merged_into IS NULL AND deleted = 0"


def preceding(
    connection: sqlite3.Connection, window_id: str, before: ChunkKey | None, limit: int, most_bytes: int
) -> ChunkPage:
    """The last chunks before this one, or the newest."""
    where, place = ("", ()) if before is None else ("AND (turn, number, role) < (?, ?, ?)", _place(before))
    query = f"{_OWN} {where} ORDER BY turn DESC, number DESC, role DESC LIMIT ?"
    page = _page(connection.execute(query, (window_id, *place, limit + 1)), limit, most_bytes)
    return page._replace(chunks=page.chunks[::-1])


def following(
    connection: sqlite3.Connection, window_id: str, after: ChunkKey, limit: int, most_bytes: int
) -> ChunkPage:
    query = f"{_OWN} AND (turn, number, role) > (?, ?, ?) ORDER BY turn, number, role LIMIT ?"
    return _page(connection.execute(query, (window_id, *_place(after), limit + 1)), limit, most_bytes)


def _page(rows: Iterable[tuple[Any, ...]], limit: int, most_bytes: int) -> ChunkPage:
    chunks: list[Stored] = []
    size = 0
    for row in rows:
        stored = stored_of(row)
        size += len(stored.chunk.text.encode())
        if chunks and (len(chunks) == limit or size > most_bytes):
            return ChunkPage(chunks, has_more=True)
        chunks.append(stored)
    return ChunkPage(chunks, has_more=False)


def _place(key: ChunkKey) -> tuple[bytes, int, str]:
    return key_of_number(key.turn), key.index, key.role
