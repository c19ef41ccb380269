"""The contract of every store: the reader's keys live and leave with their chunks."""

import numpy as np
from numpy.typing import NDArray

from halo_weave.memory.store.keys import READ_REACH
from halo_weave.memory.store.protocol import Store
from halo_weave.records.chunks import ChunkKey
from support.made_up_chunks import written_texts, written_turn
from support.store_factories import StoreFactory

READER = "reader"
VALUES = 4


def keys(*first: int) -> NDArray[np.int8]:
    """Return one key per number."""
    return np.array([[one, 0, 0, 1] for one in first], dtype=np.int8).reshape(-1, VALUES)


def stored(store: Store, ids: list[int], reader: str = READER) -> dict[int, list[list[int]]]:
    return {chunk_id: own.tolist() for chunk_id, own in store.keys_by_ids(reader, ids, VALUES).items()}


def key_of(store: Store, chunk_id: int) -> ChunkKey:
    return store.chunks_by_ids([chunk_id])[0].chunk.key


def test_keys_are_there_for_all_handles_as_soon_as_they_are_put(open_again: StoreFactory) -> None:
    store, other = open_again(), open_again()
    first, second = written_texts(store, "one", "two")
    assert other.ids_without_keys(READER) == [first, second]
    assert store.put_keys(READER, {first: keys(1, 2)}) == [first]
    assert stored(other, [first, second]) == {first: keys(1, 2).tolist()}
    assert other.ids_without_keys(READER) == [second]
    store.close()
    assert stored(open_again(), [first]) == {first: keys(1, 2).tolist()}


def test_keys_of_another_reader_are_replaced_and_never_mixed(store: Store) -> None:
    (chunk_id,) = written_texts(store, "one")
    store.put_keys(READER, {chunk_id: keys(1)})
    assert stored(store, [chunk_id], "another") == {}
    store.put_keys("another", {chunk_id: keys(2)})
    assert stored(store, [chunk_id]) == {}
    assert store.ids_without_keys(READER) == [chunk_id]


def test_a_deleted_chunk_has_no_keys_and_gets_none_until_it_is_undeleted(store: Store) -> None:
    (chunk_id,) = written_texts(store, "one")
    store.put_keys(READER, {chunk_id: keys(1)})
    key = key_of(store, chunk_id)
    store.delete([key], "test")
    assert stored(store, [chunk_id]) == {}
    assert store.put_keys(READER, {chunk_id: keys(1)}) == []
    assert store.ids_without_keys(READER) == []
    store.undelete([key], "test")
    assert store.ids_without_keys(READER) == [chunk_id]


def test_keys_of_a_chunk_that_changed_since_it_was_read_are_refused(store: Store) -> None:
    first, second = written_texts(store, "one", "two")
    as_of = store.change_number()
    store.outdate_vectors([second])
    assert store.put_keys(READER, {first: keys(3), second: keys(4)}, as_of=as_of) == [first]


def test_keys_that_were_read_with_a_text_that_has_left_since_are_refused(store: Store) -> None:
    deleted, forgotten, last = written_texts(store, "one", "two", "three")
    as_of = store.change_number()
    store.delete([key_of(store, chunk_id) for chunk_id in (deleted, forgotten)], "test")
    store.forget([key_of(store, forgotten)], "test")
    for read in ([deleted, last], [forgotten, last]):
        assert store.put_keys(READER, {last: keys(1)}, as_of=as_of, read=read) == []
    assert store.put_keys(READER, {last: keys(1)}, as_of=as_of, read=[last]) == [last]


def test_a_deletion_and_its_undoing_take_the_keys_of_the_chunks_that_can_have_been_read_with_it(store: Store) -> None:
    ids = written_texts(store, *(f"text {number}" for number in range(READ_REACH + 4)))
    key = key_of(store, ids[1])
    for change in (store.delete, store.undelete):
        store.put_keys(READER, {chunk_id: keys(1) for chunk_id in ids})
        change([key], "test")
        assert set(stored(store, ids)) == {ids[0], *ids[READ_REACH + 2 :]}


def test_a_merge_takes_the_keys_of_the_chunks_that_can_have_been_read_with_either_part(store: Store) -> None:
    left, right = written_turn(store, chunks=2)
    later = written_texts(store, *(f"text {number}" for number in range(READ_REACH + 1)))
    store.put_keys(READER, {chunk_id: keys(1) for chunk_id in later})
    store.merge(left.key, right.key, "test")
    assert set(stored(store, later)) == {later[-1]}


def test_merged_and_forgotten_chunks_leave_no_keys(store: Store) -> None:
    ids = written_texts(store, "one", "two", "three")
    store.put_keys(READER, {chunk_id: keys(chunk_id) for chunk_id in ids})
    key = key_of(store, ids[2])
    store.delete([key], "test")
    store.forget([key], "test")
    assert set(stored(store, ids)) == set(ids[:2])
    assert store.put_keys(READER, {ids[2]: keys(1)}) == []
    assert store.verify() == []
    store.clear("test")
    assert stored(store, ids) == {}
