"""Permanent removal from the SQLite memory: first from the record, then from the bytes of the file.

One transaction removes the rows and marks the file as still holding removed data. Then the file is rewritten and the
mark cleared. If a process dies in between, the next one to open the marked file finishes the work.
"""

import secrets
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from halo_weave.errors import InputError, StoreConflict, StoreUnavailable
from halo_weave.memory.sqlite import burials, settings
from halo_weave.memory.sqlite.chunks import existing
from halo_weave.memory.sqlite.database import Database
from halo_weave.memory.sqlite.repair import set_aside
from halo_weave.memory.sqlite.rows import Row, checksum, require_sound, stored_number
from halo_weave.memory.sqlite.table import Table
from halo_weave.memory.sqlite.tree import snapshots
from halo_weave.records.chunks import ChunkKey
from halo_weave.records.numbers import key_of_number, text_of_number

_MARK = "holds_removed_text"
_TREE = ("tree", "tree_heads", "tree_snapshots", "snapshot_chunks")
_COMPUTED = ("token_keys", "vectors", "embedders")
_ITSELF_AND_MERGED = (
    "WITH RECURSIVE parts (id) AS"
    " (SELECT ? UNION SELECT chunks.id FROM chunks JOIN parts ON chunks.merged_into = parts.id) SELECT id FROM parts"
)


def deleted_keys(connection: sqlite3.Connection) -> list[ChunkKey]:
    rows = connection.execute(
        "SELECT turn, number, role FROM chunks WHERE deleted = 1 AND merged_into IS NULL ORDER BY first_position"
    )
    return [ChunkKey(stored_number(turn), number, role) for turn, number, role in rows]


def forget(connection: sqlite3.Connection, keys: Sequence[ChunkKey]) -> None:
    """Remove deleted chunks and the chunks merged into them. Their keys and positions stay taken."""
    connection.execute("PRAGMA defer_foreign_keys = ON")  # merged chunks refer to rows that are removed with them
    positions = []
    for key in keys:
        chunk_id, row = existing(connection, key)
        if not row.deleted:
            raise InputError(
                f"Chunk {key} is not deleted; only deleted chunks can be permanently removed. Nothing was changed."
            )
        positions.append((row.start, row.end))
        parts = [part for (part,) in connection.execute(_ITSELF_AND_MERGED, (chunk_id,))]
        for part in parts:
            burials.remove_of_chunk(connection, part)
            _note_forgotten(connection, part)
            connection.execute("DELETE FROM chunks WHERE id = ?", (part,))
    snapshots.forget(connection, positions)
    set_aside.forget(connection, positions)
    # The word index keeps removed entries until all its segments are merged.
    connection.execute("INSERT INTO words (words) VALUES ('optimize')")
    mark(connection)


def _note_forgotten(connection: sqlite3.Connection, part: int) -> None:
    row = connection.execute(
        "SELECT id, turn, number, role, CASE WHEN merged_into IS NULL THEN first_position END, token_count"
        " FROM chunks WHERE id = ?",
        (part,),
    ).fetchone()
    connection.execute("INSERT INTO forgotten VALUES (?, ?, ?, ?, ?, ?, ?)", (*row, checksum(row)))


def clear(connection: sqlite3.Connection) -> None:
    """Remove everything but the counters, the audit log, and the keys and positions of forgotten chunks."""
    connection.execute("INSERT INTO words (words) VALUES ('delete-all')")
    connection.execute("PRAGMA defer_foreign_keys = ON")  # chunks refer to each other
    windows = ("burials", "timeline", "window_places", "windows", "journal")
    for table in (*_COMPUTED, "chunks", *windows, *_TREE, "notes", "damaged"):
        connection.execute(f"DELETE FROM {table}")
    settings.renew_identity(connection)
    mark(connection)


def erase(database: Database, remove_caches: Callable[[], None]) -> None:
    """Erase the bytes of a removal. After this returns, nothing of it is left in the file or its caches."""
    try:
        _rewrite(database, remove_caches, wait=True)
    except (StoreUnavailable, OSError) as error:
        raise StoreUnavailable(
            "The text was removed from the memory, but its bytes are still in the file. They will be removed when the "
            f"memory is opened next: {error}"
        ) from error


def finish_erasing(database: Database, remove_caches: Callable[[], None]) -> None:
    """Finish what another process left undone, unless the memory is in use; then it stays for later."""
    with suppress(StoreUnavailable, OSError):
        _rewrite(database, remove_caches, wait=False)


def mark(connection: sqlite3.Connection) -> None:
    """Make the next process that opens the memory rewrite the file."""
    settings.set_value(connection, _MARK, secrets.token_hex(8))


def _rewrite(database: Database, remove_caches: Callable[[], None], *, wait: bool) -> None:
    with database.reading() as connection:
        mark = settings.value(connection, _MARK)
    if mark is None:
        return
    remove_caches()
    database.rewrite(wait=wait)
    remove_caches()  # again, because a reader of the old state could have rebuilt a cache in the meantime
    with database.writing() as connection:
        # A different mark belongs to a removal that this rewrite did not cover.
        settings.remove_value(connection, _MARK, mark)


def is_forgotten(connection: sqlite3.Connection, row: Row) -> bool:
    query = "SELECT 1 FROM forgotten WHERE turn = ? AND number = ? AND role = ?"
    return connection.execute(query, (row.turn, row.number, row.role)).fetchone() is not None


def require_not_forgotten(connection: sqlite3.Connection, row: Row) -> None:
    if is_forgotten(connection, row):
        raise StoreConflict(
            f"Chunk {row.key} was permanently removed, and its key is never reused; nothing was written."
        )
    earlier = connection.execute(
        "SELECT first_position, token_count FROM forgotten WHERE first_position IS NOT NULL AND first_position <= ?"
        " ORDER BY first_position DESC LIMIT 1",
        (key_of_number(row.end - 1),),
    ).fetchone()
    if earlier is not None and (end := stored_number(earlier[0]) + earlier[1]) > row.start:
        raise StoreConflict(
            f"Chunk {row.key} would begin at position {text_of_number(row.start)}, but positions up to "
            f"{text_of_number(end - 1)} were permanently removed and are never reused; nothing was written."
        )


def _sound(row: tuple[Any, ...]) -> None:
    require_sound(row, f"the record of the removed chunk with id {row[0]} does not match its checksum")
    stored_number(row[1])


TABLE = Table(
    "forgotten",
    ("id", "turn", "number", "role", "first_position", "token_count", "checksum"),
    _sound,
    lambda row: f"the record of the removed chunk with id {row['id']}",
)
