"""The contract of every store: vectors."""

from typing import Any

import numpy as np
import pytest

from halo_weave.errors import InputError
from halo_weave.memory.store.protocol import Store
from support.made_up_chunks import written_texts, written_turn
from support.store_answers import EMBEDDER, one, vector
from support.store_factories import StoreFactory


def test_vectors_are_kept_by_embedder_and_replaced(store: Store) -> None:
    one_id, other_id = written_texts(store, "one", "other")
    assert store.put_vectors(EMBEDDER, {one_id: vector(1, 0), other_id: vector(0, 1)}) == [one_id, other_id]
    wide = np.array([1, 2, 3], dtype=np.float32)
    store.put_vectors("wide", {one_id: wide})
    store.put_vectors(EMBEDDER, {one_id: vector(0.5, 0.5)})
    ids, vectors = store.vectors_by_ids(EMBEDDER, [other_id, 10**9, one_id])
    assert ids.tolist() == [other_id, one_id]
    assert vectors.dtype == np.float16
    assert vectors.tolist() == [[0, 1], [0.5, 0.5]]
    ids, vectors = store.vectors_by_ids("wide", [one_id, other_id])
    assert vectors.dtype == np.float32
    assert (ids.tolist(), vectors.tolist()) == ([one_id], [[1, 2, 3]])
    assert [stored.chunk.embedder for stored in store.chunks_from(0, 5)] == [EMBEDDER, EMBEDDER]
    assert store.stats().vectors == {EMBEDDER: 2, "wide": 1}
    assert store.verify() == []


def test_an_embedder_without_vectors_has_none(store: Store) -> None:
    (chunk_id,) = written_texts(store, "one")
    changes = store.vectors_since("unknown", 0)
    assert (len(changes.ids), len(changes.removed)) == (0, 0)
    assert len(store.vectors_by_ids("unknown", [chunk_id])[0]) == 0
    assert store.ids_without_vector("unknown") == [chunk_id]
    assert store.put_vectors("unknown", {}) == []


@pytest.mark.parametrize(
    "bad",
    [
        vector(1, 0, 0),
        vector(),
        vector(np.nan, 0),
        vector(np.inf, 0),
        np.zeros((1, 2), dtype=np.float16),
        np.zeros(2, dtype=np.float32),
        np.zeros(2, dtype=np.float64),
    ],
)
def test_vectors_of_another_form_are_refused_and_none_is_kept(store: Store, bad: Any) -> None:
    first_id, second_id = written_texts(store, "one", "other")
    store.put_vectors(EMBEDDER, {first_id: vector(1, 0)})
    with pytest.raises(InputError, match="vector"):
        store.put_vectors(EMBEDDER, {first_id: vector(0, 1), second_id: bad})
    ids, vectors = store.vectors_by_ids(EMBEDDER, [first_id, second_id])
    assert (ids.tolist(), vectors.tolist()) == ([first_id], [[1, 0]])


@pytest.mark.parametrize("bad", [vector(), np.zeros((2, 2), dtype=np.float16), np.zeros(2, dtype=np.int32)])
def test_an_embedder_cannot_begin_with_what_is_no_vector(store: Store, bad: Any) -> None:
    (chunk_id,) = written_texts(store, "one")
    with pytest.raises(InputError, match="not an array of float16 or float32"):
        store.put_vectors(EMBEDDER, {chunk_id: bad})
    assert store.stats().vectors == {}


def test_a_vector_needs_a_living_chunk(store: Store) -> None:
    left, right = written_turn(store, chunks=2)
    left_id, right_id = (stored.id for stored in store.chunks_from(0, 5))
    (deleted_id,) = written_texts(store, "deleted")
    store.delete([one(store.chunks_by_ids([deleted_id])[0]).key], "test")
    store.merge(left.key, right.key, "test")
    vectors = {chunk_id: vector(1, 0) for chunk_id in (left_id, right_id, deleted_id)}
    assert store.put_vectors(EMBEDDER, vectors) == [left_id]
    with pytest.raises(InputError, match="no chunk with id 1000000000"):
        store.put_vectors(EMBEDDER, {left_id: vector(0, 1), 10**9: vector(1, 0)})
    assert store.vectors_by_ids(EMBEDDER, [left_id])[1].tolist() == [[1, 0]]


def test_a_vector_of_a_text_that_changed_meanwhile_is_left_out(store: Store) -> None:
    left, right, other = written_turn(store, chunks=3)
    ids = [stored.id for stored in store.chunks_from(0, 5)]
    read_at = store.change_number()
    store.merge(left.key, right.key, "test")
    vectors = {chunk_id: vector(1, 0) for chunk_id in (ids[0], ids[2])}
    assert store.put_vectors(EMBEDDER, vectors, as_of=read_at) == [ids[2]]
    assert store.put_vectors(EMBEDDER, vectors, as_of=store.change_number()) == [ids[0], ids[2]]
    assert one(store.chunk(other.key)).embedder == EMBEDDER


def test_another_handle_catches_up_with_vectors_in_pages(open_again: StoreFactory) -> None:
    store, other = open_again(), open_again()
    ids = written_texts(store, *(f"text {number}" for number in range(7)))
    store.put_vectors(EMBEDDER, {chunk_id: vector(chunk_id, 1) for chunk_id in ids})
    mirror: dict[int, list[float]] = {}
    reached = catch_up(other, mirror, 0)
    assert mirror == {chunk_id: [chunk_id, 1] for chunk_id in ids}
    store.delete([one(store.chunks_by_ids([ids[3]])[0]).key], "test")
    store.put_vectors(EMBEDDER, {ids[0]: vector(9, 9)})
    assert catch_up(other, mirror, reached) > reached
    assert ids[3] not in mirror
    assert mirror[ids[0]] == [9, 9]
    assert len(mirror) == 6


def catch_up(store: Store, mirror: dict[int, list[float]], reached: int) -> int:
    while True:
        changes = store.vectors_since(EMBEDDER, reached, limit=3)
        if not len(changes.ids) and not len(changes.removed):
            return reached
        assert len(changes.ids) + len(changes.removed) <= 3
        assert changes.change_number > reached
        reached = changes.change_number
        mirror.update(zip(changes.ids.tolist(), changes.vectors.tolist(), strict=True))
        for chunk_id in changes.removed.tolist():
            mirror.pop(chunk_id, None)


def test_chunks_that_lack_a_vector_are_listed_in_pages(store: Store) -> None:
    ids = written_texts(store, *(f"text {number}" for number in range(5)))
    store.put_vectors(EMBEDDER, {ids[1]: vector(1, 0)})
    assert store.ids_without_vector(EMBEDDER, limit=2) == [ids[0], ids[2]]
    assert store.ids_without_vector(EMBEDDER, after=ids[2], limit=10) == ids[3:]
