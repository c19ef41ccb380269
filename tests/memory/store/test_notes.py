"""The contract of every store: the notes; and the damage to them that the SQLite store detects."""

import sqlite3
import threading
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from halo_weave.errors import InputError, StoreConflict, StoreDamaged
from halo_weave.memory.sqlite.store import SqliteStore
from halo_weave.memory.store.protocol import Store
from halo_weave.records.notes import DEFAULT_DOCUMENT, NotesOutline, NotesRecord
from support.made_up_chunks import TIME
from support.store_factories import StoreFactory

DOCUMENT = '{"größe":"\\u0000 🦉","n":1.10}'


def put(store: Store, document: str, version: int, **more: Any) -> int:
    return store.put_notes(document, expected_version=version, origin="test", command=".", **more)


def test_notes_that_nobody_wrote_are_the_default_document(store: Store) -> None:
    record = store.notes()
    assert (record.version, record.document, store.notes_version(0)) == (0, DEFAULT_DOCUMENT, record)
    assert list(msgspec.json.decode(record.document)) == ["_metadata", "topics", "reminders", "context", "scratch"]
    assert store.notes_history() == []


def test_every_version_comes_back_as_it_was_written(open_again: StoreFactory) -> None:
    store = open_again()
    assert put(store, DOCUMENT, 0, time=TIME) == 1
    assert store.put_notes("{}", expected_version=1, origin="Größe", command="del(.[])") == 2
    store.close()
    store = open_again()
    assert store.notes_version(1) == NotesRecord(1, TIME, "test", ".", DOCUMENT)
    newest = store.notes()
    assert (newest.version, newest.origin, newest.command, newest.document) == (2, "Größe", "del(.[])", "{}")
    assert newest == store.notes_version(2)
    assert store.notes_version(3) is None
    assert store.verify() == []


def test_history_is_read_in_pages_the_newest_first(store: Store) -> None:
    for version in range(5):
        put(store, DOCUMENT, version, time=TIME)
    size = len(DOCUMENT.encode())
    in_order = [NotesOutline(version, TIME, "test", ".", size) for version in (5, 4, 3, 2, 1)]
    assert store.notes_history() == in_order
    assert store.notes_history(limit=2) == in_order[:2]
    assert store.notes_history(before=4, limit=2) == in_order[2:4]
    assert store.notes_history(before=1) == []


@pytest.mark.parametrize("version", [0, 2])
def test_another_version_than_expected_is_a_conflict_and_changes_nothing(
    open_again: StoreFactory, version: int
) -> None:
    store, other = open_again(), open_again()
    put(other, DOCUMENT, 0)
    with pytest.raises(StoreConflict, match=rf"at version 1, not {version}: .*Nothing was written"):
        put(store, "{}", version)
    assert store.notes() == other.notes()
    assert store.notes().document == DOCUMENT


def test_of_threads_that_write_at_once_one_wins(store: Store) -> None:
    outcomes: list[int] = []

    def write() -> None:
        try:
            outcomes.append(put(store, "{}", 0))
        except StoreConflict:
            outcomes.append(0)

    threads = [threading.Thread(target=write) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == [0] * 5 + [1]


@pytest.mark.parametrize("bad", [{"document": "\ud83d"}, {"time": datetime(2026, 1, 1)}])  # noqa: DTZ001
def test_what_cannot_be_kept_is_refused(store: Store, bad: dict[str, Any]) -> None:
    arguments: dict[str, Any] = {"document": "{}", "expected_version": 0, "origin": "test", "command": "", **bad}
    with pytest.raises(InputError, match="the notes"):
        store.put_notes(**arguments)
    assert store.notes().version == 0


def test_clearing_the_memory_empties_the_notes(store: Store) -> None:
    put(store, DOCUMENT, 0)
    store.clear("test")
    assert (store.notes().version, store.notes_history()) == (0, [])
    assert put(store, "{}", 0) == 1


def test_notes_do_not_count_as_a_change_of_chunks(store: Store) -> None:
    before = store.change_number()
    put(store, "{}", 0)
    assert store.change_number() == before


def test_a_backup_has_the_notes(store: Store, tmp_path: Path) -> None:
    put(store, DOCUMENT, 0)
    store.backup(tmp_path / "copy.db")
    with closing(SqliteStore(tmp_path / "copy.db")) as copy:
        assert copy.notes() == store.notes()


@pytest.mark.parametrize(
    ("damage", "finding"),
    [
        ("UPDATE notes SET document = '{}' WHERE version = 1", "Version 1 of the notes does not match its checksum."),
        ("UPDATE notes SET origin = 'nobody' WHERE version = 2", "Version 2 of the notes does not match its checksum."),
        ("DELETE FROM notes WHERE version = 1", "The notes have version 2 in the place of version 1."),
    ],
)
def test_verify_finds_notes_that_are_not_what_was_written(tmp_path: Path, damage: str, finding: str) -> None:
    path = tmp_path / "halo.db"
    with closing(SqliteStore(path)) as store:
        put(store, DOCUMENT, 0)
        put(store, DOCUMENT, 1)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(damage)
    with closing(SqliteStore(path)) as store:
        assert store.verify() == [finding]


def test_a_damaged_version_is_not_given_out(tmp_path: Path) -> None:
    path = tmp_path / "halo.db"
    with closing(SqliteStore(path)) as store:
        put(store, DOCUMENT, 0)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE notes SET document = '{}'")
    with closing(SqliteStore(path)) as store, pytest.raises(StoreDamaged, match="version 1 of the notes"):
        store.notes()
