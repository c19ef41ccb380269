"""Which chunks of the SQLite memory hold a user's wish; noted when they are written, as no query could tell."""

import sqlite3
from collections.abc import Iterator

from halo_weave.memory.sqlite.schema import WISHES_OF_CHUNKS
from halo_weave.text.languages.wishes import is_wish

LONGEST_TURN = 8
"""Chunks of a turn in which a person wishes something; what is longer was pasted, and its orders are to others."""


def is_of_user(role: str, text: str) -> bool:
    """Asked before the transaction where that can be done: others wait for it, and a text may be long."""
    return role == "user" and is_wish(text)


def note(connection: sqlite3.Connection, chunk_id: int, *, is_wish: bool) -> None:
    """Of a text that was written or has changed."""
    if is_wish:
        connection.execute("INSERT OR IGNORE INTO wishes VALUES (?)", (chunk_id,))
    else:
        connection.execute("DELETE FROM wishes WHERE id = ?", (chunk_id,))


def newest(connection: sqlite3.Connection, most: int) -> list[int]:
    query = (
        "SELECT wishes.id FROM wishes JOIN outlines USING (id) WHERE deleted = 0"
        " AND (SELECT max(number) FROM chunks WHERE chunks.turn = outlines.turn) < ? ORDER BY wishes.id DESC LIMIT ?"
    )
    return [chunk_id for (chunk_id,) in connection.execute(query, (LONGEST_TURN, most))]


def findings(connection: sqlite3.Connection) -> Iterator[str]:
    for kind, query in (
        ("is not recorded", f"{WISHES_OF_CHUNKS} EXCEPT SELECT id FROM wishes"),
        ("is wrongly recorded", f"SELECT id FROM wishes EXCEPT {WISHES_OF_CHUNKS}"),
    ):
        for (chunk_id,) in connection.execute(query):
            yield f"The chunk with id {chunk_id} {kind} as a wish."


def offer(connection: sqlite3.Connection) -> None:
    """`is_wish(text)`, which no query could tell by itself."""
    connection.create_function("is_wish", 1, is_wish, deterministic=True)
