"""Entries of the memory tree in SQLite: their versions, and which version is the last."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halo_weave.errors import InputError, StoreConflict
from halo_weave.memory.sqlite.database import Database
from halo_weave.memory.sqlite.rows import checksum, microseconds, require_sound, time_of_microseconds
from halo_weave.memory.sqlite.table import Table
from halo_weave.memory.sqlite.tree import snapshots
from halo_weave.records.notes_and_tree import KeptVersion
from halo_weave.records.tree import (
    SnapshotChunk,
    SnapshotVectors,
    TreeEntry,
    TreeOutline,
    TreeVersion,
    VersionOutline,
)
from halo_weave.records.tree_paths import SLASH, is_under

_BEGINNING_CHARACTERS = 200
_VERSION = "tree.path, tree.version, tree.created, tree.time, tree.origin, tree.content, tree.checksum"
_HEADS = "FROM tree_heads JOIN tree ON tree.path = tree_heads.path AND tree.version = tree_heads.version"
_AT_OR_UNDER = "(tree_heads.path = ? OR (tree_heads.path >= ? AND tree_heads.path < ?))"
_JUST_BEHIND_SLASH = chr(ord(SLASH) + 1)


class SqliteTree:
    _database: Database

    def put_tree_entry(
        self,
        path: str,
        content: str,
        snapshot: Sequence[SnapshotChunk],
        *,
        time: datetime,
        origin: str,
        expected_version: int | None = None,
        as_of: int | None = None,
    ) -> int:
        with self._database.writing() as connection:
            last = last_version(connection, path)
            _require_expected(path, last, expected_version)
            saved = _next_version(path, last, time=time, origin=origin, content=content)
            insert(connection, saved)
            snapshots.add(connection, path, saved.version, snapshot, as_of)
        return saved.version

    def tree_entry(self, path: str) -> TreeEntry | None:
        with self._database.reading() as connection:
            found = _entries(connection, "tree_heads.path = ?", (path,))
        return found[0] if found else None

    def touch_tree_entry(self, path: str, time: datetime) -> None:
        with self._database.writing(durable=False) as connection:
            found = connection.execute("SELECT version FROM tree_heads WHERE path = ?", (path,)).fetchone()
            if found is not None:
                _set_head(connection, path, found[0], microseconds(time))

    def tree_outlines(self, root: str = "") -> list[TreeOutline]:
        where, parameters = _under(root)
        query = (
            "SELECT tree.path, tree.version, tree.created, tree.time, tree_heads.accessed,"
            f" substr(tree.content, 1, {_BEGINNING_CHARACTERS}), length(tree.content)"
            f" {_HEADS} WHERE tree.content IS NOT NULL AND {where}"
        )
        with self._database.reading() as connection:
            outlines = [_outline(*row) for row in connection.execute(query, parameters)]
        return sorted(outlines, key=lambda one: one.path.split(SLASH))

    def tree_entries_under(self, root: str) -> list[TreeEntry]:
        with self._database.reading() as connection:
            return [entry for entry in _entries(connection, *_under(root)) if is_under(entry.path, root)]

    def tree_version(self, path: str, version: int) -> TreeVersion | None:
        with self._database.reading() as connection:
            return find(connection, path, version)

    def tree_history(self, path: str, before: int | None = None, limit: int = 100) -> list[VersionOutline]:
        query = (
            "SELECT version, time, origin, content IS NULL, ifnull(length(content), 0), (SELECT count(*) FROM"
            " tree_snapshots WHERE tree_snapshots.path = tree.path AND tree_snapshots.version = tree.version)"
            " FROM tree WHERE path = ? AND (? IS NULL OR version < ?) ORDER BY version DESC LIMIT ?"
        )
        with self._database.reading() as connection:
            return [
                VersionOutline(version, time_of_microseconds(time), origin, bool(is_deletion), characters, chunks)
                for version, time, origin, is_deletion, characters, chunks in connection.execute(
                    query, (path, before, before, limit)
                )
            ]

    def tree_snapshot(self, path: str, version: int) -> list[SnapshotChunk]:
        with self._database.reading() as connection:
            return snapshots.of_version(connection, path, version)

    def tree_snapshot_chunks(self, ids: Sequence[int]) -> dict[int, SnapshotChunk]:
        with self._database.reading() as connection:
            return snapshots.by_ids(connection, ids)

    def tree_vectors_under(self, root: str, embedder: str | None) -> SnapshotVectors:
        where, parameters = _under(root)
        with self._database.reading() as connection:
            found = snapshots.vectors(connection, embedder, where, parameters)
            return snapshots.joined(row for row in found if is_under(row.path, root))

    def put_tree_vectors(self, embedder: str, vectors: Mapping[int, NDArray[np.floating[Any]]]) -> None:
        if not vectors:
            return
        # No need to wait for the disk: vectors lost in a power cut are computed again when needed.
        with self._database.writing(durable=False) as connection:
            snapshots.put_vectors(connection, embedder, vectors)

    def delete_tree_entries(self, path: str, *, recursive: bool, time: datetime, origin: str) -> list[str]:
        where, parameters = _under(path) if recursive else ("tree_heads.path = ?", (path,))
        with self._database.writing() as connection:
            entries = _entries(connection, where, parameters)
            for entry in entries:
                last = last_version(connection, entry.path)
                insert(connection, _next_version(entry.path, last, time=time, origin=origin, content=None))
        return sorted((entry.path for entry in entries), key=lambda one: one.split(SLASH))

    def undelete_tree_entries(self, paths: Sequence[str], *, time: datetime, origin: str) -> list[int]:
        with self._database.writing() as connection:
            return [_undelete(connection, path, time, origin) for path in dict.fromkeys(paths)]

    def restore_tree_entry(
        self, path: str, version: int, *, time: datetime, origin: str, expected_version: int | None = None
    ) -> int:
        with self._database.writing() as connection:
            last, earlier = last_version(connection, path), find(connection, path, version)
            if earlier is None or earlier.content is None:
                what = "does not exist" if earlier is None else "is its deletion"
                raise InputError(f"Version {version} of the memory at {path!r} {what}; nothing was changed.")
            _require_expected(path, last, expected_version)
            return _save_again(connection, last, earlier, time, origin)

    def tree_versions_from(self, path: str, version: int, limit: int) -> list[KeptVersion]:
        query = f"SELECT {_VERSION} FROM tree WHERE (path, version) > (?, ?) ORDER BY path, version LIMIT ?"
        with self._database.reading() as connection:
            versions = [_sound(row) for row in connection.execute(query, (path, version, limit))]
            return [KeptVersion(one, snapshots.whole(connection, one.path, one.version)) for one in versions]


def last_version(connection: sqlite3.Connection, path: str) -> TreeVersion | None:
    """Return the last version, even if it is a deletion."""
    row = connection.execute(f"SELECT {_VERSION} {_HEADS} WHERE tree_heads.path = ?", (path,)).fetchone()
    return None if row is None else _sound(row)


def find(connection: sqlite3.Connection, path: str, version: int) -> TreeVersion | None:
    row = connection.execute(f"SELECT {_VERSION} FROM tree WHERE path = ? AND version = ?", (path, version)).fetchone()
    return None if row is None else _sound(row)


def insert(connection: sqlite3.Connection, saved: TreeVersion) -> None:
    """Insert a version as the last one and mark the entry as just read."""
    times = (microseconds(saved.created), microseconds(saved.time))
    row = (saved.path, saved.version, *times, saved.origin, saved.content)
    connection.execute("INSERT INTO tree VALUES (?, ?, ?, ?, ?, ?, ?)", (*row, checksum(row)))
    _set_head(connection, saved.path, saved.version, times[1])


def missing_heads(connection: sqlite3.Connection) -> list[tuple[str, int]]:
    """Return the recorded last versions that do not exist."""
    query = (
        "SELECT path, version FROM tree_heads WHERE NOT EXISTS (SELECT 1 FROM tree"
        " WHERE tree.path = tree_heads.path AND tree.version = tree_heads.version) ORDER BY path"
    )
    return connection.execute(query).fetchall()


def repeat_before(connection: sqlite3.Connection, path: str, version: int, now: datetime, origin: str) -> None:
    """Write a version with the content of the latest one before it, or a deletion if there is none."""
    query = "SELECT max(version) FROM tree WHERE path = ? AND version < ?"
    (latest,) = connection.execute(query, (path, version)).fetchone()
    before = None if latest is None else find(connection, path, latest)
    created, content = (now, None) if before is None else (before.created, before.content)
    insert(connection, TreeVersion(path, version, created, now, origin, content))


def note_heads_again(connection: sqlite3.Connection) -> list[str]:
    """Correct the heads that do not point to the last version; returns their paths."""
    query = "SELECT path, max(version), time FROM tree GROUP BY path"
    noted = dict(connection.execute("SELECT path, version FROM tree_heads"))
    wrong = [row for row in connection.execute(query) if noted.get(row[0]) != row[1]]
    for path, version, time in wrong:
        _set_head(connection, path, version, time)
    return [path for path, *_ in wrong]


def findings(connection: sqlite3.Connection) -> Iterator[str]:
    heads = dict(connection.execute("SELECT path, max(version) FROM tree GROUP BY path").fetchall())
    for path, version in connection.execute("SELECT path, version FROM tree_heads"):
        if heads.pop(path, None) != version:
            yield f"Version {version} of the memory at {path!r} is not its last one."
    for path in heads:
        yield f"The memory at {path!r} has versions, but none is recorded as the last."
    yield from snapshots.findings(connection)


def _under(root: str) -> tuple[str, tuple[str, ...]]:
    """Select the root and all paths under it, which sort from root + "/" up to root + the character after "/"."""
    if not root:
        return "1", ()
    return _AT_OR_UNDER, (root, root + SLASH, root + _JUST_BEHIND_SLASH)


def _entries(connection: sqlite3.Connection, where: str, parameters: tuple[str, ...]) -> list[TreeEntry]:
    query = f"SELECT tree_heads.accessed, {_VERSION} {_HEADS} WHERE {where} AND tree.content IS NOT NULL"
    found = []
    for accessed, *row in connection.execute(query, parameters):
        last = _sound(tuple(row))
        assert last.content is not None
        times = (last.created, last.time, time_of_microseconds(accessed))
        found.append(TreeEntry(last.path, last.version, *times, last.content))
    return found


def _outline(
    path: str, version: int, created: int, modified: int, accessed: int, beginning: str, characters: int
) -> TreeOutline:
    created_at, modified_at, accessed_at = map(time_of_microseconds, (created, modified, accessed))
    return TreeOutline(path, version, created_at, modified_at, accessed_at, beginning, characters)


def _next_version(
    path: str, last: TreeVersion | None, *, time: datetime, origin: str, content: str | None
) -> TreeVersion:
    created = time if last is None or last.content is None else last.created
    return TreeVersion(path, 1 if last is None else last.version + 1, created, time, origin, content)


def _save_again(
    connection: sqlite3.Connection, last: TreeVersion | None, earlier: TreeVersion, time: datetime, origin: str
) -> int:
    version = 1 if last is None else last.version + 1
    insert(connection, TreeVersion(earlier.path, version, earlier.created, time, origin, earlier.content))
    snapshots.copy(connection, earlier.path, earlier.version, version)
    return version


def _undelete(connection: sqlite3.Connection, path: str, time: datetime, origin: str) -> int:
    last = last_version(connection, path)
    if last is not None and last.content is not None:
        raise StoreConflict(
            f"The memory at {path!r} is not deleted: it has version {last.version}; nothing was changed."
        )
    query = "SELECT max(version) FROM tree WHERE path = ? AND content IS NOT NULL"
    (version,) = connection.execute(query, (path,)).fetchone()
    earlier = None if version is None else find(connection, path, version)
    if earlier is None:
        raise InputError(f"There has never been a memory at {path!r}; nothing was changed.")
    return _save_again(connection, last, earlier, time, origin)


def _require_expected(path: str, last: TreeVersion | None, expected: int | None) -> None:
    if expected is None:
        return
    present = 0 if last is None or last.content is None else last.version
    if present == expected:
        return
    if not present:
        state = f"does not exist, but was expected at version {expected}"
    else:
        state = f"is at version {present}, " + (f"not {expected}" if expected else "but must not exist yet")
    raise StoreConflict(
        f"The memory at {path!r} {state}. Read it again, or save it without a version to overwrite it; nothing "
        "was changed."
    )


def _set_head(connection: sqlite3.Connection, path: str, version: int, accessed: int) -> None:
    row = (path, version, accessed)
    connection.execute("REPLACE INTO tree_heads VALUES (?, ?, ?, ?)", (*row, checksum(row)))


def _sound(row: tuple[Any, ...]) -> TreeVersion:
    path, version, created, time, origin, content, _ = row
    require_sound(row, f"version {version} of the memory at {path!r} does not match its checksum")
    return TreeVersion(path, version, time_of_microseconds(created), time_of_microseconds(time), origin, content)


def _sound_head(row: tuple[Any, ...]) -> None:
    require_sound(row, f"the record of the memory at {row[0]!r} does not match its checksum")
    time_of_microseconds(row[2])


TABLES = (
    Table(
        "tree",
        ("path", "version", "created", "time", "origin", "content", "checksum"),
        _sound,
        lambda row: f"version {row['version']} of the memory at {row['path']!r}",
        has_rowid=False,
    ),
    Table(
        "tree_heads",
        ("path", "version", "accessed", "checksum"),
        _sound_head,
        lambda row: f"which version of the memory at {row['path']!r} is the last",
        has_rowid=False,
    ),
)
