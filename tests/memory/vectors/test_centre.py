"""The part that all vectors of a memory share is subtracted from a question."""

from pathlib import Path

import numpy as np
import pytest

from halo_weave.memory.sqlite.store import SqliteStore
from halo_weave.memory.vectors.centre import SHARE, Centre
from halo_weave.records.chunks import Chunk, ChunkKey, utc_now
from halo_weave.records.tokens import Token

ASKED = np.array([0.6, 0.8, 0, 0], dtype=np.float32)


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    return SqliteStore(tmp_path / "halo.db")


def say(store: SqliteStore, vectors: list[list[float]]) -> None:
    for vector in vectors:
        reserved = store.reserve(1)
        key = ChunkKey(reserved.turn_user, 0, "user")
        chunk = Chunk.of_tokens(key, [Token(1, "x")], first_position=reserved.position_start, time=utc_now())
        (chunk_id,) = store.write_chunks([chunk])
        store.put_vectors("made up", {chunk_id: np.array(vector, dtype=np.float32)})


def test_an_empty_memory_leaves_the_question_as_it_is(store: SqliteStore) -> None:
    assert Centre(store, "made up").removed_from(ASKED) is ASKED


def test_a_share_of_the_mean_is_taken_and_the_length_stays(store: SqliteStore) -> None:
    say(store, [[1, 0, 0, 0], [0, 0, 1, 0]])
    turned = Centre(store, "made up").removed_from(ASKED)
    expected = ASKED - SHARE * np.array([0.5, 0, 0.5, 0])
    np.testing.assert_allclose(turned, expected / np.linalg.norm(expected), atol=1e-6)


def test_the_mean_follows_a_memory_that_grows_or_is_cleared(store: SqliteStore) -> None:
    centre = Centre(store, "made up")
    say(store, [[1, 0, 0, 0]])
    first = centre.removed_from(ASKED)
    say(store, [[0, 0, 1, 0]] * 3)
    assert not np.array_equal(centre.removed_from(ASKED), first)
    store.clear("test")
    assert centre.removed_from(ASKED) is ASKED


def test_a_memory_that_was_cleared_has_a_mean_again_though_its_numbers_go_on(store: SqliteStore) -> None:
    say(store, [[1, 0, 0, 0]] * 20)
    store.clear("test")
    say(store, [[0, 0, 1, 0]] * 3)
    expected = ASKED - SHARE * np.array([0, 0, 1, 0])
    turned = Centre(store, "made up").removed_from(ASKED)
    np.testing.assert_allclose(turned, expected / np.linalg.norm(expected), atol=1e-6)


def test_vectors_that_come_after_the_first_question_count_too(store: SqliteStore) -> None:
    centre = Centre(store, "made up")
    reserved = store.reserve(1)
    key = ChunkKey(reserved.turn_user, 0, "user")
    chunk = Chunk.of_tokens(key, [Token(1, "x")], first_position=reserved.position_start, time=utc_now())
    (chunk_id,) = store.write_chunks([chunk])
    assert centre.removed_from(ASKED) is ASKED
    store.put_vectors("made up", {chunk_id: np.array([1, 0, 0, 0], dtype=np.float32)})
    assert centre.removed_from(ASKED) is not ASKED


def test_a_mean_of_many_is_that_of_a_sample_of_all_times(store: SqliteStore) -> None:
    reserved = store.reserve(3000)
    chunks = [
        Chunk.of_tokens(
            ChunkKey(reserved.turn_user, index, "user"),
            [Token(1, "x")],
            first_position=reserved.position_start + index,
            time=utc_now(),
        )
        for index in range(3000)
    ]
    ids = store.write_chunks(chunks)
    axes = np.eye(4, dtype=np.float32)
    store.put_vectors("made up", {chunk_id: axes[0 if place < 1500 else 2] for place, chunk_id in enumerate(ids)})
    turned = Centre(store, "made up").removed_from(ASKED)
    expected = ASKED - SHARE * np.array([0.5, 0, 0.5, 0])
    np.testing.assert_allclose(turned, expected / np.linalg.norm(expected), atol=1e-3)
