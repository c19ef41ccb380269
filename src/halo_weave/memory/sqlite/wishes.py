"""The chunks that contain a user's wish, recorded when they are written because SQL cannot detect a wish."""

import sqlite3
from collections.abc import Iterator

from halo_weave.memory.sqlite.schema.derived_rows import WISHES_OF_CHUNKS
from halo_weave.text.languages.wishes import is_wish

LONGEST_TURN = 8
"""Maximum chunks of a turn with a wish. Longer turns are pasted text, with instructions meant for someone else."""


def is_of_user(role: str, text: str) -> bool:
    """Call this before the transaction if possible: a text may be long, and other writers would wait."""
    return role == "user" and is_wish(text)


def note(connection: sqlite3.Connection, chunk_id: int, *, is_wish: bool) -> None:
    """Record whether a new or changed text is a wish."""
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
    """Register the SQL function `is_wish(blob)`; a blob, because Python cannot receive text that is not UTF-8."""
    connection.create_function("is_wish", 1, lambda text: is_wish(text.decode(errors="replace")), deterministic=True)
