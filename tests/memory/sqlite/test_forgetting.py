"""No byte of a forgotten text is left in the SQLite memory's files, whatever happens on the way."""

import itertools
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from halo_weave.errors import StoreUnavailable
from halo_weave.memory.sqlite.database import Database
from halo_weave.memory.sqlite.store import SqliteStore
from halo_weave.records.chunks import Chunk, ChunkKey
from halo_weave.records.tokens import Token
from support.made_up_chunks import TIME, text_chunk, written_texts, written_turn

SECRET = "Xylotomous zanzibarquux wolfenbuttelish"
PARTS = [word.encode()[:6] for word in SECRET.lower().split()]
"""The word index stores them in lower case, stemmed, and without prefixes that they share with their neighbours."""
EMBEDDER = "made-up"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "halo.db"


def write_secret(store: SqliteStore) -> ChunkKey:
    """Write the secret in text, token pieces, metadata and a vector, among much else."""
    written_texts(
        store, *(f"{name} of the lighthouse {number}" for number, name in enumerate(["xylo", "zulu", "wolf"]))
    )
    reservation = store.reserve(10)
    key = ChunkKey(reservation.turn_user, 0, "user")
    tokens = [Token(place, f" {word}") for place, word in enumerate(SECRET.split())]
    (chunk_id,) = store.write_chunks(
        [
            Chunk.of_tokens(
                key, tokens, first_position=reservation.position_start, time=TIME, metadata={"tag": SECRET.upper()}
            )
        ]
    )
    store.put_vectors(EMBEDDER, {chunk_id: np.frombuffer(SECRET[:32].encode(), dtype=np.float16)})
    for _ in range(3):
        written_turn(store, chunks=3)
    return key


def leftovers(path: Path) -> list[tuple[str, bytes]]:
    """Return which parts of the secret are left in which file of the memory's folder."""
    return [
        (file.name, part)
        for file in sorted(path.parent.iterdir())
        for part in PARTS
        if part in file.read_bytes().lower()
    ]


def words_in_index(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE VIRTUAL TABLE temp.known USING fts5vocab (main, words, row)")
        return {word for (word,) in connection.execute("SELECT term FROM known")}


def test_no_byte_of_a_forgotten_text_is_left_while_the_memory_is_open(path: Path) -> None:
    with closing(SqliteStore(path)) as store, closing(SqliteStore(path)) as other:
        key = write_secret(store)
        assert {part for _, part in leftovers(path)} == set(PARTS)
        store.delete([key], "test")
        assert leftovers(path) != []
        assert other.chunk(key) is not None
        store.forget([key], "test")
        assert leftovers(path) == []
        assert (other.chunk(key), len(other.search_words(["lighthouse"], 9))) == (None, 3)
        assert store.verify() == other.verify() == []
    assert leftovers(path) == []
    assert not {word for word in words_in_index(path) if word.startswith(("xyloto", "zanzib", "wolfen"))}


def test_no_byte_of_what_was_merged_is_left(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
        store.reserve(100)
        first, *others = (
            text_chunk(1, f"{word} stands", first=place * 2, index=place) for place, word in enumerate(SECRET.split())
        )
        store.write_chunks([first, *others])
        for chunk in others:
            store.merge(first.key, chunk.key, "test")
        store.delete([first.key], "test")
        store.forget_all_deleted("test")
        assert leftovers(path) == []
        assert store.verify() == []


def test_no_byte_of_a_cleared_memory_is_left(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
        write_secret(store)
        store.clear("test")
        assert leftovers(path) == []
        assert words_in_index(path) == set()


@pytest.mark.parametrize("seed", range(4))
def test_no_byte_is_left_however_the_memory_came_about(path: Path, seed: int) -> None:
    choose = random.Random(seed)
    with closing(SqliteStore(path)) as store:
        keys = []
        for _ in range(60):
            written_turn(store, chunks=choose.randint(1, 4), count=choose.randint(1, 30))
            if choose.random() < 0.3:
                keys.append(write_secret(store))
            if keys and choose.random() < 0.3:
                key = choose.choice(keys)
                choose.choice([store.delete, store.undelete])([key], "test")
        store.delete(keys, "test")
        assert len(store.forget_all_deleted("test")) == len(keys)
        assert leftovers(path) == []
        assert store.verify() == []


def test_no_byte_is_left_in_the_index_of_words(path: Path) -> None:
    with closing(SqliteStore(path, word_index_from_chunks=1)) as store:
        key = write_secret(store)
        store.search_words(["lighthouse"], 5)
        store.wait_until_indexed()
        assert {name for name, _ in leftovers(path)} >= {"halo.db-words"}
        store.delete([key], "test")
        store.forget([key], "test")
        assert leftovers(path) == []
        assert len(store.search_words(["lighthouse"], 9)) == 3


def interrupted(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def rewritten_but_not_said(rewrite: Callable[..., None]) -> Callable[..., None]:
    def rewrite_and_stop(*arguments: object, **options: object) -> None:
        rewrite(*arguments, **options)
        raise KeyboardInterrupt

    return rewrite_and_stop


@pytest.mark.parametrize("is_rewritten", [False, True])
def test_a_forgetting_that_was_cut_off_is_finished_at_the_next_opening(
    path: Path, monkeypatch: pytest.MonkeyPatch, is_rewritten: bool
) -> None:
    store = SqliteStore(path)
    key = write_secret(store)
    store.delete([key], "test")
    with monkeypatch.context() as patch:
        patch.setattr(Database, "rewrite", rewritten_but_not_said(Database.rewrite) if is_rewritten else interrupted)
        with pytest.raises(KeyboardInterrupt):
            store.forget([key], "test")
    assert (leftovers(path) == []) == is_rewritten
    with closing(SqliteStore(path)) as later:
        assert leftovers(path) == []
        assert later.chunk(key) is None
        assert later.audit()[-1].action == "forget"
        assert later.verify() == []
    store.close()


def test_a_reader_that_does_not_end_is_said_and_the_rest_is_done_when_it_has(path: Path) -> None:
    with closing(SqliteStore(path, timeout_s=0.05)) as store, closing(sqlite3.connect(path)) as reader:
        key = write_secret(store)
        store.delete([key], "test")
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM chunks").fetchone()
        with pytest.raises(StoreUnavailable, match="removed from the memory, but its bytes are still in the file"):
            store.forget([key], "test")
        assert store.chunk(key) is None
        with closing(SqliteStore(path, timeout_s=0.05)) as early:
            assert early.chunk(key) is None
        assert leftovers(path) != []
        reader.execute("ROLLBACK")
        with closing(SqliteStore(path)):
            assert leftovers(path) == []


def test_a_mark_of_a_later_forgetting_is_not_taken_off_by_an_earlier_one(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = SqliteStore(path), SqliteStore(path)
    keys = [write_secret(first), write_secret(first)]
    first.delete(keys, "test")
    rewrite, calls = Database.rewrite, itertools.count()

    def rewrite_while_another_forgets(database: Database, *, wait: bool) -> None:
        if next(calls) > 0:
            raise KeyboardInterrupt
        rewrite(database, wait=wait)
        with pytest.raises(KeyboardInterrupt):
            second.forget(keys[1:], "test")

    with monkeypatch.context() as patch:
        patch.setattr(Database, "rewrite", rewrite_while_another_forgets)
        first.forget(keys[:1], "test")
    assert leftovers(path) != []
    with closing(SqliteStore(path)):
        assert leftovers(path) == []
    first.close()
    second.close()
