"""Single flipped bits anywhere in the memory's file: all are detected, and damaged rows can be repaired."""

import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest

from halo_weave.errors import StoreError
from halo_weave.memory.sqlite.store import SqliteStore
from halo_weave.memory.store.protocol import Store
from halo_weave.records.tree import SnapshotChunk
from halo_weave.records.windows import BurialRecord, WindowRecord
from support.made_up_chunks import TIME, text_chunk, ticking_clock, written_turn

FLIPS, SEEDS = 200, 4
T = TypeVar("T")
EMBEDDER = "made-up"


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A small memory with some of everything in it."""
    path = tmp_path_factory.mktemp("healthy") / "halo.db"
    with closing(SqliteStore(path, clock=ticking_clock())) as store:
        fill(store)
        assert store.verify() == []
    return path.read_bytes()


def fill(store: Store) -> None:
    turns = [written_turn(store, chunks=3, count=12) for _ in range(8)]
    reserved = store.reserve(100)
    wish = text_chunk(reserved.turn_user, "Ada: I prefer tea.", first=reserved.position_start)
    (wish_id,) = store.write_chunks([wish])
    numbers = np.random.default_rng(1)
    ids = [stored.id for stored in store.chunks_from(0, 100)]
    store.put_vectors(EMBEDDER, {one: numbers.random(96, dtype=np.float32) for one in ids})
    store.serve_embedder(EMBEDDER)
    store.merge(turns[0][0].key, turns[0][1].key, "test")
    store.delete([turns[1][0].key, turns[2][0].key], "test")
    store.forget([turns[1][0].key], "test")
    for place in range(3):
        burials = [
            BurialRecord(chunk.key, chunk.first_position, 5.0, "It was dim.", TIME) for chunk in turns[3 + place]
        ]
        window = WindowRecord(f"w{place}", f"Window {place}", numbers.bytes(600), 0, TIME)
        store.put_window(window, buried=burials, timeline=b"what changed in the context")
        store.journal_append(f"w{place}", reserved.turn_assistant, b"words that are under way")
    for text in ("[]", '["milk"]', '["milk", "tea"]'):
        version = store.notes().version
        store.put_notes(text, expected_version=version, origin="test", command=f". = {text}")
    for path in ("a", "a/b", "c"):
        snapshot = [SnapshotChunk(chunk, 0.5, EMBEDDER, numbers.random(96, dtype=np.float32)) for chunk in turns[5]]
        store.put_tree_entry(path, '{"kept": "on purpose"}', snapshot, time=TIME, origin="test")
        store.put_tree_entry(path, '{"kept": "again"}', snapshot, time=TIME, origin="test")
    store.delete_tree_entries("c", recursive=False, time=TIME, origin="test")
    assert store.wishes(1) == [wish_id]


@contextmanager
def flipped(healthy: bytes, path: Path, place: int, bit: int) -> Iterator[Path]:
    content = bytearray(healthy)
    content[place] ^= 1 << bit
    path.write_bytes(content)
    yield path
    for file in path.parent.glob(f"{path.name}*"):
        file.unlink()


def dump(path: Path) -> dict[str, list[Any]]:
    """Return everything that a program without checks can read from the file."""
    with closing(sqlite3.connect(path)) as connection:
        connection.text_factory = bytes
        tables = [
            name.decode()
            for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
            if not name.startswith((b"words_", b"sqlite_"))
        ]
        content = {name: connection.execute(f"SELECT * FROM {name}").fetchall() for name in tables if name != "words"}
        for word in ("sea", "light", "running", "tea", "ada"):
            query = "SELECT rowid, rank FROM words WHERE words MATCH ? ORDER BY rowid"
            content[word] = connection.execute(query, (word,)).fetchall()
        return content


def outcome_of(action: Callable[[], T]) -> T | str:
    """Return the result, or the message in which the memory reports that it is damaged."""
    try:
        return action()
    except StoreError as error:
        return str(error)


def places(healthy: bytes, chance: random.Random) -> Iterator[tuple[int, int]]:
    """Yield bits to flip, half of them in written bytes, because most of a small file is empty."""
    written = [place for place, byte in enumerate(healthy) if byte]
    for count in range(FLIPS // SEEDS):
        yield chance.choice(written) if count % 2 else chance.randrange(len(healthy)), chance.randrange(8)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_flipped_bit_is_noticed_or_changes_nothing_and_what_is_in_rows_is_repaired(
    healthy: bytes, tmp_path: Path, seed: int
) -> None:
    (tmp_path / "truth.db").write_bytes(healthy)
    truth = dump(tmp_path / "truth.db")
    for place, bit in places(healthy, random.Random(seed)):
        with flipped(healthy, tmp_path / "halo.db", place, bit) as path:
            store = outcome_of(lambda path=path: SqliteStore(path))  # type: ignore[misc]
            if isinstance(store, str):
                assert "\n" not in store
                continue
            with closing(store):
                findings = store.verify()
                windows = outcome_of(store.windows)
                assert "\n" not in windows if isinstance(windows, str) else len(windows) == 3
                if not findings:
                    assert dump(path) == truth, (place, bit)
                    continue
                repaired = outcome_of(store.repair)
                if isinstance(repaired, str):
                    assert "\n" not in repaired
                    assert any(is_of_the_file_itself(one) for one in findings), findings
                else:
                    assert store.verify() == []


def is_of_the_file_itself(finding: str) -> bool:
    return any(
        words in finding for words in ("SQLite reports", "the schema", "malformed", "word index", "no such column")
    )
