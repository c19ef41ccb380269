"""Restores the notes and the memory tree of another memory where they continue the local history.

A history with the same beginning gets its missing versions. A different history stays as it is here.
"""

import sqlite3
from collections.abc import Iterable

from halo_weave.memory.sqlite import notes as sqlite_notes
from halo_weave.memory.sqlite.tree import entries as sqlite_tree
from halo_weave.memory.sqlite.tree import snapshots
from halo_weave.records.notes import NotesRecord
from halo_weave.records.notes_and_tree import KeptVersion, NotesOrTreeRecord, RestoredKept


def restore(connection: sqlite3.Connection, kept: Iterable[NotesOrTreeRecord]) -> RestoredKept:
    """Restore versions. For the notes and for each path, all versions must come in order, starting with the first."""
    notes, entries = _Story(), dict[str, _Story]()
    for one in kept:
        if isinstance(one, KeptVersion):
            _restore_version(connection, one, entries.setdefault(one.version.path, _Story()))
        else:
            _restore_notes(connection, one, notes)
    return RestoredKept(
        tree_added=tuple(path for path, story in entries.items() if story.is_added),
        tree_differing=tuple(
            path for path, story in entries.items() if story.is_other and _differs(connection, path, story)
        ),
        are_notes_added=notes.is_added,
        are_notes_differing=notes.is_other and sqlite_notes.newest(connection).document != notes.last,
    )


class _Story:
    """How an incoming history compares with the local one; `last` is its final content."""

    def __init__(self) -> None:
        self.is_other = False
        self.is_added = False
        self.last: str | None = None


def _restore_version(connection: sqlite3.Connection, one: KeptVersion, story: _Story) -> None:
    story.last = one.version.content
    ours = sqlite_tree.find(connection, one.version.path, one.version.version)
    if ours is not None:
        story.is_other = story.is_other or ours != one.version
    elif not story.is_other:
        sqlite_tree.insert(connection, one.version)
        snapshots.add(connection, one.version.path, one.version.version, one.snapshot)
        story.is_added = True


def _restore_notes(connection: sqlite3.Connection, one: NotesRecord, story: _Story) -> None:
    story.last = one.document
    ours = sqlite_notes.find(connection, one.version)
    if ours is not None:
        story.is_other = story.is_other or ours != one
    elif not story.is_other:
        sqlite_notes.insert(connection, one)
        story.is_added = True


def _differs(connection: sqlite3.Connection, path: str, story: _Story) -> bool:
    last = sqlite_tree.last_version(connection, path)
    return last is None or last.content != story.last
