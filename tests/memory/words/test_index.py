"""The word index file: whatever happens to it, results are the same as SQLite's own."""

import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halo_weave.errors import HaloError
from halo_weave.memory.sqlite.store import SqliteStore
from halo_weave.memory.store.protocol import Store
from halo_weave.records.chunks import ChunkKey
from support.made_up_chunks import text_chunk, written_texts

WORDS = ["sea", "light", "Grüße", "owl", "running", "runs", "世界", "42", "café", "AND", "x", "hill", "hills", "!!"]
WORDS += ["ich", "habe", "и", "книги", "किताबें", "평화로운", "ตลาดน้ำ"]
SEARCHES = [["sea"], ["owl", "run"], ["runs", "running", "grusse"], ["hill", "x", "none", "!!"], WORDS, ["sea light"]]
SEARCHES += [["世", "книга", "किताब"], ["世界和平", "평화", "ตลาด"], ["lights", "gruss", "ich habe"]]


def key_of(store: Store, chunk_id: int) -> ChunkKey:
    return store.chunks_by_ids([chunk_id])[0].chunk.key


class Memory:
    """One memory, opened twice: with a word index from the first chunk, and without one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.truth = SqliteStore(path, word_index_from_chunks=None)
        self.store = SqliteStore(path, word_index_from_chunks=1)

    @property
    def file(self) -> Path:
        return self.path.with_name(self.path.name + "-words")

    def index(self) -> None:
        self.store.search_words(["sea"], 1)
        self.store.wait_until_indexed()
        assert self.file.exists()

    def reopen(self) -> None:
        self.store.close()
        self.store = SqliteStore(self.path, word_index_from_chunks=1)

    def close(self) -> None:
        self.store.close()
        self.truth.close()

    def require_the_truth(self) -> None:
        for terms in SEARCHES:
            for limit in (1, 3, 1000):
                expected, found = (one.search_words(terms, limit) for one in (self.truth, self.store))
                assert found == expected
            among = range(0, 1000, 3)
            expected, found = (one.search_words(terms, 5, among=among) for one in (self.truth, self.store))
            assert found == expected
            assert self.store.count_words(terms) == self.truth.count_words(terms)
            ids = np.arange(-2, 1000, 3)
            true_places, places = (one.word_places(terms, ids) for one in (self.truth, self.store))
            assert (places.frequencies == true_places.frequencies).all()
            assert (places.having.tolist(), places.parts) == (true_places.having.tolist(), true_places.parts)

    @property
    def uses_file(self) -> bool:
        return self.store._words._index is not None and self.store._words._index._file is not None


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with closing(Memory(tmp_path / "halo.db")) as opened:
        yield opened


def some_text(rng: random.Random) -> str:
    return " ".join(rng.choices(WORDS, weights=range(len(WORDS), 0, -1), k=rng.choice((1, 3, 9, 300))))


def change_something(store: Store, rng: random.Random) -> None:
    """Write, delete, undelete, merge or permanently remove any chunk."""
    chunks = [stored.chunk for stored in store.chunks_from(0, 10_000)]
    match rng.randrange(8):
        case 0 if chunks:
            store.delete([rng.choice(chunks).key], "test")
        case 1 if chunks:
            store.undelete([rng.choice(chunks).key for _ in range(3)], "test")
        case 2 if chunks:
            key = rng.choice(chunks).key
            reason = "not there, or deleted"
            if key.index == 0 and store.chunk(ChunkKey(key.turn, 1, key.role)) is not None:
                try:
                    store.merge(key, ChunkKey(key.turn, 1, key.role), "test")
                except HaloError as error:
                    reason = str(error)
            assert reason
        case _:
            reservation = store.reserve(1000)
            first = text_chunk(reservation.turn_user, some_text(rng), first=reservation.position_start)
            second = text_chunk(reservation.turn_user, some_text(rng), first=first.end_position, index=1)
            store.write_chunks([first, second])


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32), before=st.integers(1, 25), after=st.integers(0, 12), again=st.booleans())
def test_the_file_finds_what_the_store_itself_finds(
    tmp_path_factory: pytest.TempPathFactory, seed: int, before: int, after: int, again: bool
) -> None:
    """Ids, scores and counts are the same after any history, with the file built at any point of it."""
    rng = random.Random(seed)
    with closing(Memory(tmp_path_factory.mktemp("memory") / "halo.db")) as memory:
        for _ in range(before):
            change_something(memory.truth, rng)
        written_texts(memory.truth, "sea")
        memory.index()
        memory.require_the_truth()
        assert memory.uses_file
        for _ in range(after):
            change_something(memory.truth, rng)
            if rng.random() < 0.3:
                memory.require_the_truth()
        if again:
            memory.reopen()
        memory.require_the_truth()
        assert memory.uses_file


def test_a_small_memory_needs_no_file(tmp_path: Path) -> None:
    with closing(SqliteStore(tmp_path / "halo.db", word_index_from_chunks=3)) as store:
        written_texts(store, "sea", "sea")
        store.search_words(["sea"], 1)
        store.wait_until_indexed()
        assert not list(tmp_path.glob("*-words"))


@pytest.mark.parametrize("place", [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.97, 0.9999])
def test_a_flipped_bit_is_never_believed(memory: Memory, place: float) -> None:
    written_texts(memory.truth, *(some_text(random.Random(seed)) for seed in range(50)))
    memory.index()
    content = bytearray(memory.file.read_bytes())
    content[int(place * len(content))] ^= 1
    memory.file.write_bytes(content)
    memory.reopen()
    memory.require_the_truth()
    memory.store.wait_until_indexed()
    memory.require_the_truth()
    assert memory.uses_file


@pytest.mark.parametrize("kept", [0, 1, 20, 0.5, -1])
def test_a_cut_file_is_never_believed(memory: Memory, kept: float) -> None:
    written_texts(memory.truth, *(some_text(random.Random(seed)) for seed in range(50)))
    memory.index()
    memory.store.close()
    content = memory.file.read_bytes()
    memory.file.write_bytes(content[: int(kept * len(content)) if kept == 0.5 else int(kept)])
    memory.store = SqliteStore(memory.path, word_index_from_chunks=1)
    memory.require_the_truth()
    memory.store.wait_until_indexed()
    assert memory.uses_file


def test_the_file_of_another_memory_is_not_believed(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    with closing(Memory(tmp_path / "other" / "halo.db")) as other:
        written_texts(other.truth, *["sea sea"] * 5)
        other.index()
        written_texts(memory.truth, *["sea light"] * 5)
        memory.file.write_bytes(other.file.read_bytes())
    memory.require_the_truth()
    memory.store.wait_until_indexed()
    memory.require_the_truth()


def test_the_file_of_a_future_that_a_backup_took_back_is_not_believed(memory: Memory, tmp_path: Path) -> None:
    written_texts(memory.truth, "sea", "owl")
    memory.truth.backup(tmp_path / "backup.db")
    written_texts(memory.truth, "sea light", "light")
    memory.index()
    content = memory.file.read_bytes()
    with closing(SqliteStore(tmp_path / "backup.db")) as restored:
        written_texts(restored, "sea owl", "owl", "hill")
    (tmp_path / "backup.db-words").write_bytes(content)
    with closing(Memory(tmp_path / "backup.db")) as other:
        other.require_the_truth()


def test_what_was_forgotten_is_in_no_file(memory: Memory) -> None:
    ids = written_texts(memory.truth, "sea", "unspeakable sea")
    memory.index()
    assert b"unspeak" in memory.file.read_bytes()
    key = key_of(memory.truth, ids[1])
    memory.store.delete([key], "test")
    memory.store.forget([key], "test")
    assert not memory.file.exists()
    memory.index()
    memory.require_the_truth()
    assert b"unspeak" not in memory.file.read_bytes()


def test_what_another_process_forgot_is_not_found(memory: Memory) -> None:
    ids = written_texts(memory.truth, "sea", "sea light", "sea")
    memory.index()
    key = key_of(memory.truth, ids[1])
    memory.truth.delete([key], "test")
    memory.truth.forget([key], "test")
    memory.require_the_truth()


def test_another_process_uses_the_file_that_is_there(memory: Memory) -> None:
    written_texts(memory.truth, "sea", "sea light")
    memory.index()
    made = memory.file.stat()
    program = (
        "import pathlib, sys; from halo_weave.memory.sqlite.store import SqliteStore;"
        "store = SqliteStore(pathlib.Path(sys.argv[1]), word_index_from_chunks=1);"
        "print([match.id for match in store.search_words(['light'], 5)]); store.wait_until_indexed(); store.close()"
    )
    done = subprocess.run([sys.executable, "-c", program, memory.path], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[2]"
    assert memory.file.stat().st_ino == made.st_ino


def test_only_one_process_makes_the_file(memory: Memory) -> None:
    """A process that finds another one building it continues without a file."""
    written_texts(memory.truth, "sea", "sea light")
    index = memory.store._words._index
    assert index is not None
    with index._build_lock.held_if_free() as is_free:
        assert is_free
        other = SqliteStore(memory.path, word_index_from_chunks=1)
        with closing(other):
            assert len(other.search_words(["sea"], 5)) == 2
            other.wait_until_indexed()
            assert not memory.file.exists()


def test_a_closed_store_stops_making_the_file(memory: Memory) -> None:
    written_texts(memory.truth, *["sea"] * 20)
    memory.store.search_words(["sea"], 1)
    memory.store.close()
    assert not list(memory.path.parent.glob("*.part"))


def test_searches_are_right_while_others_write_and_files_are_made(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search finds every chunk that was acknowledged before it began."""
    monkeypatch.setattr("halo_weave.memory.words.index._FEWEST_OUTSIDE", 3)
    written: list[int] = []
    failures: list[str] = []
    is_done = threading.Event()

    def search() -> None:
        while not is_done.is_set():
            expected = set(written)
            found = {match.id for match in memory.store.search_words(["sea"], 10_000)}
            if not expected <= found:
                failures.append(f"{sorted(expected - found)} were not found")

    threads = [threading.Thread(target=search) for _ in range(2)]
    for thread in threads:
        thread.start()
    for number in range(120):
        written.extend(written_texts(memory.truth, f"sea {number}"))
    is_done.set()
    for thread in threads:
        thread.join()
    memory.store.wait_until_indexed()
    assert failures == []
    assert memory.uses_file
    memory.require_the_truth()
