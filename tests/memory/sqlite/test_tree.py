"""The memory tree in the SQLite file: forgotten text leaves no byte, and damage is detected."""

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from halo_weave.errors import StoreDamaged
from halo_weave.memory.sqlite.store import SqliteStore
from halo_weave.records.chunks import Chunk, ChunkKey
from halo_weave.records.tree import SnapshotChunk
from memory.sqlite.test_forgetting import PARTS, SECRET, leftovers, write_secret
from memory.sqlite.test_store import version_before, without_sharing
from support.made_up_chunks import TIME, text_chunk, written_turn


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "halo.db"


def vector_of(chunk: Chunk) -> NDArray[np.float32]:
    """A vector whose bytes are the beginning of the text."""
    return np.frombuffer(chunk.text.encode().ljust(8, b" ")[:8], dtype=np.float32)


def save(store: SqliteStore, path: str, *keys: ChunkKey) -> None:
    chunks = [stored.chunk for key in keys if (stored := store.chunk(key)) is not None]
    snapshot = [SnapshotChunk(chunk, 0.5, "made-up", vector_of(chunk)) for chunk in chunks]
    store.put_tree_entry(path, '{"kept": true}', snapshot, time=TIME, origin="test")


def test_no_byte_of_a_forgotten_text_is_left_in_any_snapshot(path: Path) -> None:
    """Whether the entry is current, an old version, deleted, or restored."""
    with closing(SqliteStore(path)) as store:
        key, other = write_secret(store), written_turn(store)[0].key
        for name in ("current", "changed", "deleted", "restored"):
            save(store, name, key, other)
        save(store, "changed")
        for name in ("deleted", "restored"):
            store.delete_tree_entries(name, recursive=False, time=TIME, origin="test")
        store.undelete_tree_entries(["restored"], time=TIME, origin="test")
        store.delete([key], "test")
        assert leftovers(path) != []
        store.forget([key], "test")
        assert leftovers(path) == []
        assert [one.key for one in store.tree_snapshot("restored", 3)] == [other]
        assert store.verify() == []


def test_no_byte_is_left_of_what_was_merged_after_it_was_saved(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
        store.reserve(100)
        chunks = [
            text_chunk(1, f"{word} stands", first=place * 2, index=place) for place, word in enumerate(SECRET.split())
        ]
        store.write_chunks(chunks)
        save(store, "parts", *(chunk.key for chunk in chunks))
        for chunk in chunks[1:]:
            store.merge(chunks[0].key, chunk.key, "test")
        save(store, "whole", chunks[0].key)
        store.delete([chunks[0].key], "test")
        assert {part for _, part in leftovers(path)} == set(PARTS)
        store.forget_all_deleted("test")
        assert leftovers(path) == []
        assert store.verify() == []


def test_no_byte_of_a_cleared_tree_is_left(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
        save(store, "a", write_secret(store))
        store.put_tree_entry(SECRET, f'"{SECRET}"', [], time=TIME, origin=SECRET)
        store.clear("test")
        assert leftovers(path) == []


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (
            "UPDATE tree SET content = '2' WHERE path = 'a' AND version = 2",
            "Version 2 of the memory at 'a' does not match",
        ),
        (
            "UPDATE tree SET origin = 'x' WHERE path = 'a' AND version = 1",
            "Version 1 of the memory at 'a' does not match",
        ),
        ("UPDATE tree_heads SET accessed = 5", "The record of the memory at 'a' does not match its checksum"),
        ("UPDATE tree_heads SET version = 1", "Version 1 of the memory at 'a' is not its last one"),
        ("DELETE FROM tree_heads", "'a' has versions, but none is recorded as the last"),
        (
            "DELETE FROM tree WHERE version = 1",
            "a snapshot of version 1 of the memory at 'a', which has no such version",
        ),
        ("UPDATE snapshot_chunks SET text = replace(text, 's', 't')", "of the snapshots does not match its checksum"),
        ("UPDATE snapshot_chunks SET vector = x'00000000'", "of the snapshots does not match its checksum"),
        ("DELETE FROM snapshot_chunks WHERE id = 1", "Chunk 1 of a snapshot is missing"),
        ("DELETE FROM tree_snapshots WHERE id = 1", "Chunk 1 of the snapshots belongs to no snapshot"),
        ("UPDATE tree_snapshots SET similarity = 0.75", "in a snapshot of the memory at 'a' does not match"),
    ],
)
def test_every_flipped_bit_is_noticed(path: Path, damage: str, words: str) -> None:
    with closing(SqliteStore(path)) as store:
        save(store, "a", *(chunk.key for chunk in written_turn(store, chunks=2)))
        save(store, "a")
        assert store.verify() == []
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(damage)
        connection.commit()
    with closing(SqliteStore(path)) as store:
        assert words in "\n".join(store.verify())


def test_what_is_damaged_is_not_given_out(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
        save(store, "a", written_turn(store)[0].key)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE tree SET content = '2'")
        connection.execute("UPDATE snapshot_chunks SET text = upper(text)")
        connection.commit()
    with closing(SqliteStore(path)) as store:
        with pytest.raises(StoreDamaged, match="the memory at 'a' does not match its checksum"):
            store.tree_entry("a")
        with pytest.raises(StoreDamaged, match="of the snapshots does not match its checksum"):
            store.tree_snapshot("a", 1)


def test_snapshots_share_the_chunks_that_are_equal(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
        keys = [chunk.key for chunk in written_turn(store, chunks=3)]
        for number in range(20):
            save(store, f"a{number % 4}", *keys[: 2 + number % 2])
        assert count(path, "snapshot_chunks") == 3
        assert [one.key for one in store.tree_snapshot("a1", 5)] == keys
        store.delete([keys[0]], "test")
        store.forget([keys[0]], "test")
        assert count(path, "snapshot_chunks") == 2
        assert [one.key for one in store.tree_snapshot("a1", 5)] == keys[1:]
        assert store.verify() == []


def test_a_memory_from_before_snapshots_shared_their_chunks_has_the_same_in_less_and_damage_stays_damage(
    path: Path,
) -> None:
    with closing(SqliteStore(path)) as store:
        keys = [chunk.key for chunk in written_turn(store, chunks=3)]
        for _ in range(5):
            save(store, "a", *keys)
        before = [seen(store, version) for version in range(1, 6)]
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        without_sharing(connection)
        connection.execute(f"PRAGMA user_version = {version_before('CREATE TABLE snapshot_chunks')}")
    with closing(SqliteStore(path)) as store:
        assert [seen(store, version) for version in range(1, 6)] == before
        assert count(path, "snapshot_chunks") == 3
        assert store.verify() == []
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        without_sharing(connection)
        connection.execute("UPDATE tree_snapshots SET text = CAST(x'ff' AS TEXT) WHERE id = 4")
        connection.execute(f"PRAGMA user_version = {version_before('CREATE TABLE snapshot_chunks')}")
    with closing(SqliteStore(path)) as store:
        assert [seen(store, version) for version in (1, 3)] == [before[0], before[2]]
        with pytest.raises(StoreDamaged):
            store.tree_snapshot("a", 2)
        assert {one.source for one in store.repair().set_aside} == {"snapshot_chunks", "tree_snapshots"}
        assert [one.key for one in store.tree_snapshot("a", 2)] == keys[1:]
        assert store.verify() == []


def seen(store: SqliteStore, version: int) -> list[tuple[object, ...]]:
    return [
        (one.chunk, one.similarity, one.embedder, None if one.vector is None else one.vector.tolist(), one.id)
        for one in store.tree_snapshot("a", version)
    ]


def count(path: Path, table: str) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
