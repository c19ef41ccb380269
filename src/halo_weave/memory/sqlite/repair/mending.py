"""Rebuilds what the SQLite memory can derive from its remaining rows after damaged ones were removed.

Most functions yield a sentence for each change.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from halo_weave.memory.sqlite import chunks, forgetting, totals
from halo_weave.memory.sqlite import notes as sqlite_notes
from halo_weave.memory.sqlite import settings as sqlite_settings
from halo_weave.memory.sqlite.counters import Counters, write_counters
from halo_weave.memory.sqlite.repair import verify
from halo_weave.memory.sqlite.repair.damage import Damage
from halo_weave.memory.sqlite.rows import DamagedRow, stored_number
from halo_weave.memory.sqlite.schema.derived_rows import OUTLINES_OF_CHUNKS, WISHES_OF_CHUNKS
from halo_weave.memory.sqlite.tree import entries

_ORIGIN = "repair"
_SPARE_TURNS, _SPARE_POSITIONS = 1_000, 1_000_000
"""Added to the highest known numbers when it is unknown which ones were handed out last. Numbers never run out."""


def counters(connection: sqlite3.Connection, found: Iterable[Damage]) -> Iterator[str]:
    if connection.execute("SELECT count(*) FROM counters").fetchone() == (1,):
        return
    stored = next((damage.row for damage in found if damage.table.name == "counters"), {})
    turns = [stored.get("next_turn"), *_all(connection, "turn", ("chunks", "forgotten", "damaged", "burials"))]
    positions = [
        stored.get("next_position"),
        *_all(connection, "first_position", ("chunks", "forgotten", "damaged", "burials")),
    ]
    last = "SELECT max(change) FROM (SELECT change FROM chunks UNION ALL SELECT change FROM vectors)"
    (change,) = connection.execute(last).fetchone()
    write_counters(
        connection, Counters(_highest(turns) + _SPARE_TURNS, _highest(positions) + _SPARE_POSITIONS, (change or 0) + 1)
    )
    yield "The counters of turns and positions were set far beyond all known ones."


def settings(connection: sqlite3.Connection, found: Iterable[Damage]) -> Iterator[str]:
    if not any(damage.table.name == "settings" for damage in found):
        return
    # The damaged setting may have been the mark that the file still holds removed data.
    forgetting.mark(connection)
    most = connection.execute(
        "SELECT name FROM embedders JOIN vectors ON vectors.embedder = embedders.id WHERE vector IS NOT NULL"
        " GROUP BY name ORDER BY count(*) DESC LIMIT 1"
    ).fetchone()
    if most is not None and sqlite_settings.serving_embedder(connection) is None:
        sqlite_settings.serve_embedder(connection, most[0], even_if_incomplete=True)
    yield "The identity and totals of the memory were restored."


def merges(connection: sqlite3.Connection, found: Iterable[Damage]) -> Iterator[str]:
    """Separate chunks again if the chunk that they were merged into was set aside."""
    removed = {damage.row["id"]: damage.row for damage in found if damage.table.name == "chunks"}
    query = (
        "SELECT id, merged_into FROM chunks WHERE merged_into IS NOT NULL"
        " AND merged_into NOT IN (SELECT id FROM chunks) ORDER BY id"
    )
    for chunk_id, target in connection.execute(query).fetchall():
        row = chunks.row_of_id(connection, chunk_id)
        holder = chunks.row_at_or_before(connection, row.start)
        if holder is not None and holder.end > row.start:
            found_holder = chunks.find(connection, holder.turn, holder.number, holder.role)
            row = row._replace(merged_into=None if found_holder is None else found_holder[0])
        else:
            # When in doubt, mark it deleted: a deletion can be undone.
            is_deleted = target not in removed or removed[target]["deleted"] != 0
            row = row._replace(merged_into=None, deleted=int(is_deleted))
            yield f"Chunk {row.key}, which was merged into a damaged chunk, is separate again."
        chunks.update(connection, chunk_id, row)


def notes(connection: sqlite3.Connection, found: Iterable[Damage], now: datetime) -> Iterator[str]:
    """Replace each version that was set aside with a copy of the one before it."""
    lost = {damage.row["version"] for damage in found if damage.table.name == "notes"}
    versions = {version for (version,) in connection.execute("SELECT version FROM notes")}
    last = max(versions, default=0)
    while last + 1 in lost:
        last += 1
    for version in range(1, last + 1):
        if version not in versions:
            sqlite_notes.repeat_before(connection, version, now, _ORIGIN)
            yield f"Version {version} of the notes was replaced with the version before it."


def tree(connection: sqlite3.Connection, now: datetime) -> Iterator[str]:
    """Replace missing last versions of entries with the version before them, and correct the heads."""
    for path, version in entries.missing_heads(connection):
        entries.repeat_before(connection, path, version, now, _ORIGIN)
        yield f"Version {version} of the memory at {path!r} was replaced with the version before it."
    for path in entries.note_heads_again(connection):
        yield f"The last version of the memory at {path!r} was recorded again."


def vectors(connection: sqlite3.Connection) -> int:
    """Remove inconsistent vectors and keys, to be computed again; returns how many."""
    keys = connection.execute("DELETE FROM token_keys WHERE chunk NOT IN (SELECT id FROM searchable)").rowcount
    return (
        keys
        + connection.execute(
            "DELETE FROM vectors WHERE embedder NOT IN (SELECT id FROM embedders) OR (vector IS NOT NULL AND"
            " (chunk NOT IN (SELECT id FROM searchable) OR length(vector) != (SELECT dimensions *"
            " CASE type WHEN 'float16' THEN 2 ELSE 4 END FROM embedders WHERE embedders.id = vectors.embedder)))"
        ).rowcount
    )


def sequences(connection: sqlite3.Connection) -> None:
    """Ensure that a row id is never reused."""
    for table in verify.NUMBERED:
        (highest,) = connection.execute(f"SELECT ifnull(max(id), 0) FROM {table}").fetchone()
        if table == "chunks":
            query = "SELECT max(id) FROM (SELECT id FROM forgotten UNION ALL SELECT chunk FROM vectors)"
            highest = max(highest, connection.execute(query).fetchone()[0] or 0)
        query = "SELECT seq FROM sqlite_sequence WHERE name = ?"
        stored = [seq for (seq,) in connection.execute(query, (table,)) if isinstance(seq, int)]
        connection.execute("DELETE FROM sqlite_sequence WHERE name = ?", (table,))
        connection.execute("INSERT INTO sqlite_sequence VALUES (?, ?)", (table, max([highest, *stored])))
    names = ", ".join(f"'{table}'" for table in verify.NUMBERED)
    connection.execute(f"DELETE FROM sqlite_sequence WHERE name NOT IN ({names})")


def derived(connection: sqlite3.Connection) -> Iterator[str]:
    connection.execute("DELETE FROM outlines")
    connection.execute(f"INSERT INTO outlines {OUTLINES_OF_CHUNKS}")
    connection.execute("DELETE FROM wishes")
    connection.execute(f"INSERT INTO wishes {WISHES_OF_CHUNKS}")
    totals.count_again(connection)
    if verify.findings_in_words(connection):
        connection.execute("INSERT INTO words (words) VALUES ('rebuild')")
        yield "The word index was rebuilt."


def _all(connection: sqlite3.Connection, column: str, tables: Sequence[str]) -> Iterator[Any]:
    for table in tables:
        yield from (value for (value,) in connection.execute(f"SELECT max({column}) FROM {table}"))


def _highest(keys: Iterable[Any]) -> int:
    highest = 0
    for key in keys:
        with suppress(DamagedRow, TypeError):
            highest = max(highest, stored_number(key))
    return highest
