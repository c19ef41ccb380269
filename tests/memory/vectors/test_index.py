"""The nearest vectors are found in any state of the index file and with any concurrent writes."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from halo_weave.memory.files.lock import FileLock
from halo_weave.memory.sqlite.store import SqliteStore
from halo_weave.memory.vectors.approximate import IndexBuilder, VectorFileHeader, open_index
from halo_weave.memory.vectors.exact import ExactIndex
from halo_weave.memory.vectors.index import VectorIndex
from support.folders import TESTS
from support.vector_memories import EMBEDDER, clustered, delete_ids, write_vectors

Vectors = NDArray[np.float32]

DIMENSIONS = 64
EXACT_UP_TO = 200
FEW = 2000
MANY = 20_000
QUERIES = clustered(25, DIMENSIONS, seed=99)


class Memory:
    """A store in a folder, and an exhaustive comparison with all its vectors."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "halo.db"
        self.cache = folder / "cache"
        self.store = SqliteStore(self.path)
        changes = self.store.vectors_since(EMBEDDER, 0, limit=MANY)
        self.vectors = dict(zip(changes.ids.tolist(), changes.vectors, strict=True))

    def write(self, vectors: Vectors) -> list[int]:
        ids = write_vectors(self.store, vectors)
        self.vectors.update(zip(ids, vectors, strict=True))
        return ids

    def replace(self, vectors: dict[int, Vectors]) -> None:
        self.store.put_vectors(EMBEDDER, vectors)
        self.vectors.update(vectors)

    def delete(self, ids: list[int]) -> None:
        delete_ids(self.store, ids)
        for chunk_id in ids:
            del self.vectors[chunk_id]

    def index(self, *, embedder: str = EMBEDDER) -> VectorIndex:
        return VectorIndex(self.store, embedder, DIMENSIONS, self.cache, exact_up_to_chunks=EXACT_UP_TO)

    def built_index(self) -> VectorIndex:
        index = self.index()
        index.wait_until_built()
        return index

    @property
    def file(self) -> Path:
        (path,) = self.cache.glob("*.index")
        return path

    def expected(self, query: Vectors, limit: int) -> list[int]:
        ids = np.array(list(self.vectors), dtype=np.int64)
        similarities = np.round(np.array(list(self.vectors.values())) @ query, 6)
        return [int(chunk_id) for chunk_id in ids[np.lexsort((ids, -similarities))][:limit]]

    def recall(self, index: VectorIndex, limit: int = 50) -> float:
        shares = [len(found(index, query, limit) & set(self.expected(query, limit))) / limit for query in QUERIES]
        return sum(shares) / len(shares)


def found(index: VectorIndex, query: Vectors, limit: int = 50) -> set[int]:
    return set(index.nearest(query, limit).ids.tolist())


@contextmanager
def opened(folder: Path) -> Iterator[Memory]:
    memory = Memory(folder)
    yield memory
    memory.store.close()


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory with a valid index file, for tests to copy."""
    folder = tmp_path_factory.mktemp("prepared")
    with opened(folder) as memory:
        memory.write(clustered(FEW, DIMENSIONS, seed=1))
        memory.built_index().close()
        assert memory.file.stat().st_size > FEW * DIMENSIONS
    return folder


@pytest.fixture
def memory(prepared: Path, tmp_path: Path) -> Iterator[Memory]:
    folder = tmp_path / "memory"
    shutil.copytree(prepared, folder)
    with opened(folder) as memory:
        yield memory


@pytest.fixture
def small_memory(tmp_path: Path) -> Iterator[Memory]:
    with opened(tmp_path) as memory:
        memory.write(clustered(EXACT_UP_TO // 2, DIMENSIONS, seed=2))
        yield memory


@given(st.lists(st.tuples(st.sampled_from(["put", "discard"]), st.integers(0, 9), st.integers(0, 3)), max_size=40))
def test_exact_search_follows_what_is_put_and_discarded(steps: list[tuple[str, int, int]]) -> None:
    index, kept = ExactIndex(), dict[int, Vectors]()
    directions = np.eye(4, dtype=np.float32)
    for step, chunk_id, direction in steps:
        if step == "put":
            index.put(np.array([chunk_id]), directions[[direction]])
            kept[chunk_id] = directions[direction]
        else:
            index.discard(np.array([chunk_id]))
            kept.pop(chunk_id, None)
    query = np.array([0.8, 0.6, 0, 0], dtype=np.float32)
    right = sorted(kept, key=lambda chunk_id: (-float(np.round(kept[chunk_id] @ query, 6)), chunk_id))
    assert index.nearest(query, 20).ids.tolist() == right
    assert index.nearest(query, 3).ids.tolist() == right[:3]


def test_half_precision_is_searched_too() -> None:
    index = ExactIndex()
    vectors = clustered(500, DIMENSIONS, seed=3)
    index.put(np.arange(500), vectors.astype(np.float16))
    assert index.nearest(vectors[77], 1).ids.tolist() == [77]


def test_a_small_memory_is_searched_exactly_and_needs_no_file(small_memory: Memory) -> None:
    index = small_memory.index()
    for query in QUERIES:
        answer = index.nearest(query, 20)
        assert answer.ids.tolist() == small_memory.expected(query, 20)
        assert answer.similarities.tolist() == sorted(answer.similarities.tolist(), reverse=True)
    index.wait_until_built()
    assert not small_memory.cache.exists()


def test_an_empty_memory_has_nothing_near(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        assert not len(memory.index().nearest(QUERIES[0], 5).ids)


def test_without_a_folder_all_search_is_exact(memory: Memory) -> None:
    index = VectorIndex(memory.store, EMBEDDER, DIMENSIONS, exact_up_to_chunks=10)
    assert memory.recall(index) == 1


def test_equal_vectors_stand_in_order_of_their_ids(memory: Memory) -> None:
    same = np.repeat(clustered(1, DIMENSIONS, seed=4), 6, axis=0)
    ids = memory.write(same)
    for index in (memory.index(), memory.built_index()):
        assert index.nearest(same[0], 6).ids.tolist() == ids
        index.close()


def test_the_approximate_index_finds_nearly_all_of_many(tmp_path: Path) -> None:
    vectors = clustered(MANY, DIMENSIONS, seed=5)
    builder = IndexBuilder(DIMENSIONS, threads=2)
    builder.add(np.arange(MANY), vectors)
    builder.write(tmp_path / "many", VectorFileHeader(EMBEDDER, DIMENSIONS, MANY, 1, {}))
    index = open_index(tmp_path / "many", EMBEDDER, DIMENSIONS)
    assert index is not None
    right = np.argsort(-(QUERIES @ vectors.T), axis=1)[:, :50]
    recalls = [np.isin(right[place], index.candidates(query, 200)).mean() for place, query in enumerate(QUERIES)]
    assert np.mean(recalls) >= 0.95


@contextmanager
def file_alone(index: VectorIndex) -> Iterator[None]:
    """Prove that answers come from the file: no chunks are left to compare exactly."""
    assert index.chunks_outside_file == 0
    yield
    assert index.chunks_outside_file == 0


def test_a_large_memory_gets_a_file_that_the_next_process_uses(memory: Memory) -> None:
    before = memory.file.stat()
    index = memory.index()
    with file_alone(index):
        assert memory.recall(index) >= 0.95
    assert memory.file.stat().st_ino == before.st_ino
    index.close()


def test_new_chunks_are_found_at_once(memory: Memory) -> None:
    index = memory.index()
    vectors = clustered(3, DIMENSIONS, seed=6)
    for vector in vectors:
        index.nearest(vector, 5)
        (chunk_id,) = memory.write(vector[np.newaxis])
        assert index.nearest(vector, 1).ids.tolist() == [chunk_id]
    index.close()


def test_deleted_chunks_are_never_found(memory: Memory) -> None:
    index = memory.index()
    for query in QUERIES[:5]:
        nearest = index.nearest(query, 30).ids.tolist()
        memory.delete(nearest)
        assert not found(index, query) & set(nearest)
        assert len(index.nearest(query, 50).ids) == 50
    reopened = memory.index()
    assert all(found(reopened, query, 100) <= set(memory.vectors) for query in QUERIES)


def test_similarities_of_given_chunks_come_from_file_memory_and_store_alike(memory: Memory) -> None:
    index = memory.built_index()
    new = memory.write(clustered(3, DIMENSIONS, seed=5))
    gone = sorted(memory.vectors)[10]
    memory.delete([gone])
    ids = np.array([-1, *sorted({*sorted(memory.vectors)[:20], gone, *new}), 10**6])
    similarities = dict(zip(ids.tolist(), index.similarities(QUERIES[0], ids).tolist(), strict=True))
    assert {one for one, value in similarities.items() if np.isnan(value)} == {-1, gone, 10**6}
    for one in memory.vectors.keys() & similarities.keys():
        assert similarities[one] == pytest.approx(float(memory.vectors[one] @ QUERIES[0]), abs=1e-3)
    index.close()


def about_right(index: VectorIndex, memory: Memory, ids: list[int]) -> bool:
    """Return whether the index knows roughly how close these are, and that all others have no vector."""
    asked = np.array(sorted(ids))
    similarities = index.about_similarities(QUERIES[0], asked)
    expected = [float(memory.vectors[one] @ QUERIES[0]) if one in memory.vectors else np.nan for one in asked.tolist()]
    return np.allclose(similarities, expected, atol=0.02, equal_nan=True)


def test_about_how_close_given_chunks_are_is_known_without_the_store(memory: Memory) -> None:
    index = memory.built_index()
    old = sorted(memory.vectors)[:300]
    with file_alone(index):
        assert about_right(index, memory, [-1, *old, 10**6])
        assert not np.array_equal(
            index.about_similarities(QUERIES[0], np.array(old)), index.similarities(QUERIES[0], np.array(old))
        )
    index.close()


def test_about_how_close_given_chunks_are_follows_what_is_written_changed_and_deleted(memory: Memory) -> None:
    index = memory.built_index()
    old, new = sorted(memory.vectors), memory.write(clustered(3, DIMENSIONS, seed=5))
    memory.replace(dict(zip(old[:5], clustered(5, DIMENSIONS, seed=6), strict=True)))
    memory.delete(old[5:10])
    assert about_right(index, memory, [*old[:20], *new])
    memory.replace(dict(zip(old[20:], clustered(EXACT_UP_TO, DIMENSIONS, seed=14), strict=False)))
    assert about_right(index, memory, [*old[:500], *new])
    index.wait_until_built()
    assert _header(memory).outdated == {*old[: 20 + EXACT_UP_TO]} - {*old[10:20]}
    assert about_right(index, memory, [*old[:500], *new])
    index.close()


def test_a_changed_vector_is_found_where_it_is_now(memory: Memory) -> None:
    index = memory.index()
    far, near = clustered(2, DIMENSIONS, seed=7)
    chunk_id = memory.expected(far, 1)[0]
    memory.replace({chunk_id: near})
    assert chunk_id not in found(index, far, 5)
    assert index.nearest(near, 1).ids.tolist() == [chunk_id]


def test_asking_for_everything_gives_everything(memory: Memory) -> None:
    index = memory.index()
    memory.delete(memory.expected(QUERIES[0], 7))
    memory.write(clustered(5, DIMENSIONS, seed=8))
    assert index.nearest(QUERIES[0], 10 * FEW).ids.tolist() == memory.expected(QUERIES[0], FEW * 10)


def test_what_another_process_writes_is_found(memory: Memory) -> None:
    index = memory.index()
    index.nearest(QUERIES[0], 1)
    script = (
        "import sys, pathlib; from halo_weave.memory.sqlite.store import SqliteStore;"
        "from support.vector_memories import clustered, write_vectors;"
        f"print(*write_vectors(SqliteStore(pathlib.Path(sys.argv[1])), clustered(2, {DIMENSIONS}, seed=9)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(memory.path)],
        cwd=TESTS,
        capture_output=True,
        text=True,
        check=True,
    )
    written = [int(chunk_id) for chunk_id in done.stdout.split()]
    for chunk_id, vector in zip(written, clustered(2, DIMENSIONS, seed=9), strict=True):
        assert index.nearest(vector, 1).ids.tolist() == [chunk_id]


def truncated(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


def without_its_end(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - 1)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def missing(path: Path) -> None:
    path.unlink()


def with_a_flipped_bit(share: float) -> Callable[[Path], None]:
    def flip(path: Path) -> None:
        content = bytearray(path.read_bytes())
        content[int(share * (len(content) - 1))] ^= 0x10
        path.write_bytes(content)

    return flip


DAMAGES = (truncated, without_its_end, empty, missing, *map(with_a_flipped_bit, (0.0, 0.3, 0.6, 0.99, 0.9995, 1.0)))


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_made_again_while_answers_stay_right(memory: Memory, damage: Callable[[Path], None]) -> None:
    damage(memory.file)
    index = memory.index()
    assert memory.recall(index) >= 0.95
    index.wait_until_built()
    assert open_index(memory.file, EMBEDDER, DIMENSIONS) is not None
    with file_alone(index):
        assert memory.recall(index) >= 0.95
    index.close()


def test_a_file_of_another_memory_is_not_believed(memory: Memory, tmp_path: Path) -> None:
    with opened(tmp_path / "other") as other:
        other.write(clustered(FEW + 20, DIMENSIONS, seed=10))
        other.cache.mkdir()
        shutil.copy(memory.file, other.cache)
        index = other.index()
        assert other.recall(index) >= 0.95
        index.close()


def test_a_file_that_is_ahead_of_the_memory_is_not_believed(memory: Memory, tmp_path: Path) -> None:
    with opened(tmp_path / "younger") as younger:
        younger.write(clustered(FEW // 2, DIMENSIONS, seed=1)[: FEW // 2])
        younger.cache.mkdir()
        shutil.copy(memory.file, younger.cache)
        index = younger.index()
        assert younger.recall(index) >= 0.95
        index.close()


def test_a_file_of_another_embedder_is_not_opened(memory: Memory) -> None:
    assert open_index(memory.file, "another", DIMENSIONS) is None
    assert open_index(memory.file, EMBEDDER, DIMENSIONS + 1) is None
    assert not len(memory.index(embedder="another").nearest(QUERIES[0], 5).ids)


def test_a_file_far_behind_is_replaced(memory: Memory) -> None:
    index = memory.index()
    memory.write(clustered(EXACT_UP_TO + 1, DIMENSIONS, seed=11))
    assert index.chunks_outside_file == EXACT_UP_TO + 1
    index.wait_until_built()
    with file_alone(index):
        assert memory.recall(index) >= 0.95
    index.close()


def test_a_file_that_is_mostly_outdated_is_made_from_nothing(memory: Memory) -> None:
    index = memory.index()
    memory.delete(memory.expected(QUERIES[0], FEW // 2))
    index.wait_until_built()
    assert (header := _header(memory)).count == FEW // 2
    assert header.change_number <= memory.store.change_number()
    assert memory.recall(index) >= 0.95
    index.close()


def test_vectors_that_a_continued_file_has_twice_are_found_once_where_they_are_now(memory: Memory) -> None:
    index = memory.index()
    changed = clustered(EXACT_UP_TO + 1, DIMENSIONS, seed=14)
    memory.replace(dict(zip(list(memory.vectors), changed, strict=False)))
    index.wait_until_built()
    assert _header(memory).count == FEW + EXACT_UP_TO + 1
    with file_alone(index):
        assert memory.recall(index) >= 0.95
        for query in QUERIES:
            ids = index.nearest(query, 50).ids.tolist()
            assert len(set(ids)) == len(ids) == 50
    index.close()


def _header(memory: Memory) -> VectorFileHeader:
    index = open_index(memory.file, EMBEDDER, DIMENSIONS)
    assert index is not None
    return index.header


def test_two_that_share_a_file_each_take_what_the_other_made(memory: Memory) -> None:
    first, second = memory.index(), memory.index()
    memory.write(clustered(EXACT_UP_TO + 1, DIMENSIONS, seed=12))
    first.wait_until_built()
    made = memory.file.stat().st_ino
    second.wait_until_built()
    assert memory.file.stat().st_ino == made
    for index in (first, second):
        with file_alone(index):
            assert memory.recall(index) >= 0.95
        index.close()


def test_a_folder_that_cannot_be_written_leaves_search_exact(memory: Memory, caplog: pytest.LogCaptureFixture) -> None:
    shutil.rmtree(memory.cache)
    memory.cache.write_text("in the way")
    index = memory.index()
    index.wait_until_built()
    assert memory.recall(index) == 1
    assert "Cannot build" in caplog.text
    index.close()


def test_what_is_too_much_to_hold_is_read_through_until_there_is_a_file(memory: Memory) -> None:
    index = VectorIndex(memory.store, EMBEDDER, DIMENSIONS, exact_up_to_chunks=10)
    assert memory.recall(index) == 1
    assert index.chunks_outside_file == 0
    for chunk_id, vector in zip(memory.write(new := clustered(2, DIMENSIONS, seed=15)), new, strict=True):
        assert index.nearest(vector, 1).ids.tolist() == [chunk_id]
    memory.delete(gone := memory.expected(QUERIES[0], 5))
    assert not found(index, QUERIES[0]) & set(gone)


def test_a_file_that_another_process_is_making_is_waited_for_and_not_made_twice(memory: Memory) -> None:
    made = memory.file.rename(memory.file.with_suffix(".away"))
    lock = FileLock(made.with_suffix(".index-lock"), timeout_s=0)
    index = memory.index()
    with lock.held_if_free() as is_free:
        assert is_free
        assert memory.recall(index) == 1
        inode = made.rename(made.with_suffix(".index")).stat().st_ino
    index.wait_until_built()
    assert memory.file.stat().st_ino == inode
    with file_alone(index):
        assert memory.recall(index) >= 0.95
    index.close()
    lock.close()


def test_a_cleared_memory_has_nothing_near(memory: Memory) -> None:
    index = memory.index()
    index.nearest(QUERIES[0], 5)
    memory.store.clear("test")
    assert not len(index.nearest(QUERIES[0], 5).ids)
    index.close()


def test_closing_stops_the_making_of_a_file(memory: Memory) -> None:
    memory.file.unlink()
    index = memory.index()
    index.nearest(QUERIES[0], 1)
    index.close()
    assert not list(memory.cache.glob(".*.part"))


def test_the_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "a.index"
    builder = IndexBuilder(DIMENSIONS, threads=1)
    builder.add(np.arange(10), clustered(10, DIMENSIONS, seed=13))
    builder.write(path, VectorFileHeader(EMBEDDER, DIMENSIONS, 10, 5, {}))
    opened_before = open_index(path, EMBEDDER, DIMENSIONS)
    builder.write(path, VectorFileHeader(EMBEDDER, DIMENSIONS, 10, 6, {}))
    opened_after = open_index(path, EMBEDDER, DIMENSIONS)
    assert opened_before is not None
    assert opened_after is not None
    assert (opened_before.header.change_number, opened_after.header.change_number) == (5, 6)
    assert len(opened_before.candidates(QUERIES[0], 10)) == 10
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.index"]
