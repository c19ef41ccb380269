"""The contract of every store: forgetting single chunks, or everything, for good."""

from datetime import UTC, datetime

import pytest

from halo_weave.errors import InputError, StoreConflict
from halo_weave.memory.store.protocol import Store
from halo_weave.records.chunks import ChunkKey, Record
from halo_weave.records.windows import WindowRecord
from support.made_up_chunks import made_up_chunk, written_texts, written_turn
from support.store_answers import EMBEDDER, chunks_of, one, vector
from support.store_factories import StoreFactory


def test_a_forgotten_chunk_is_nowhere(store: Store) -> None:
    gone, kept = written_turn(store, chunks=2)
    gone_id, kept_id = (stored.id for stored in store.chunks_from(0, 5))
    store.put_vectors(EMBEDDER, {gone_id: vector(1, 0), kept_id: vector(0, 1)})
    store.delete([gone.key], "test")
    before = store.change_number()
    assert store.forget([gone.key, gone.key], "test") == (gone.key,)
    assert store.change_number() > before
    assert store.chunk(gone.key) is None
    assert store.chunks_by_ids([gone_id, kept_id]) == store.chunks_of_turn(gone.key.turn)
    assert [chunk.key for chunk in chunks_of(store.chunks_from(0, 5))] == [kept.key]
    positions = range(gone.first_position, kept.end_position)
    assert {token.key for token in store.tokens_by_positions(positions, include_deleted=True)} == {kept.key}
    assert store.vectors_by_ids(EMBEDDER, [gone_id, kept_id])[0].tolist() == [kept_id]
    assert store.stats().deleted_chunks == 0
    assert store.verify() == []


def test_only_what_is_deleted_can_be_forgotten(store: Store) -> None:
    deleted, living = written_turn(store, chunks=2)
    store.delete([deleted.key], "test")
    before, number = store.chunks_from(0, 5), store.change_number()
    with pytest.raises(InputError, match=r"Chunk 1:1 \(user\) is not deleted; .* Nothing was changed"):
        store.forget([deleted.key, living.key], "test")
    with pytest.raises(InputError, match=r"no chunk 77:0 \(user\); nothing was changed"):
        store.forget([deleted.key, ChunkKey(77, 0, "user")], "test")
    assert (store.chunks_from(0, 5), store.change_number()) == (before, number)
    assert [entry.action for entry in store.audit()] == ["delete"]


def test_all_that_is_deleted_can_be_forgotten_at_once(store: Store) -> None:
    first, second, third = written_turn(store, chunks=3)
    assert store.forget_all_deleted("test") == ()
    store.delete([third.key, first.key], "test")
    assert store.forget_all_deleted("test") == (first.key, third.key)
    assert chunks_of(store.chunks_from(0, 5)) == [second]


def test_the_log_still_says_what_became_of_a_forgotten_chunk(store: Store) -> None:
    (chunk,) = written_turn(store)
    store.delete([chunk.key], "person")
    store.forget([chunk.key], "command")
    assert [(entry.origin, entry.action, entry.key) for entry in store.audit()] == [
        ("person", "delete", chunk.key),
        ("command", "forget", chunk.key),
    ]


def test_keys_and_positions_of_a_forgotten_chunk_are_never_used_again(store: Store) -> None:
    before, chunk = written_turn(store, chunks=2)
    store.delete([chunk.key], "test")
    store.forget([chunk.key], "test")
    later = store.reserve(10)
    assert later.position_start == chunk.end_position
    with pytest.raises(
        StoreConflict, match="was permanently removed, and its key is never reused; nothing was written"
    ):
        store.write_chunks([made_up_chunk(chunk.key.turn, chunk.key.index, first=later.position_start)])
    for first, count in ((chunk.first_position, 1), (chunk.end_position - 1, 3)):
        with pytest.raises(StoreConflict, match="were permanently removed and are never reused; nothing was written"):
            store.write_chunks([made_up_chunk(later.turn_user, first=first, count=count)])
    store.write_chunks([made_up_chunk(later.turn_user, first=chunk.end_position)])
    assert one(store.chunk(before.key)) == before
    assert store.verify() == []


def test_what_was_merged_into_a_forgotten_chunk_goes_with_it(store: Store) -> None:
    first, second, third, other = written_turn(store, chunks=4)
    store.merge(second.key, third.key, "test")
    store.merge(first.key, second.key, "test")
    store.delete([first.key], "test")
    assert store.forget([first.key], "test") == (first.key,)
    assert store.merged_from(0, 10) == []
    assert chunks_of(store.chunks_from(0, 10)) == [other]
    for key in (second.key, third.key):
        with pytest.raises(StoreConflict, match="was permanently removed"):
            store.write_chunks([made_up_chunk(key.turn, key.index, first=store.reserve(9).position_start)])
    assert store.verify() == []


def test_another_handle_learns_that_a_forgotten_chunk_has_no_vector(open_again: StoreFactory) -> None:
    store, other = open_again(), open_again()
    (chunk_id,) = written_texts(store, "soon forgotten")
    store.put_vectors(EMBEDDER, {chunk_id: vector(1, 0)})
    seen = other.vectors_since(EMBEDDER, 0).change_number
    key = one(store.chunks_by_ids([chunk_id])[0]).key
    store.delete([key], "test")
    store.forget([key], "test")
    assert other.vectors_since(EMBEDDER, seen).removed.tolist() == [chunk_id]
    assert other.chunks_by_ids([chunk_id]) == []


def test_a_vector_of_a_chunk_that_was_forgotten_meanwhile_is_left_out(store: Store) -> None:
    gone_id, kept_id = written_texts(store, "soon forgotten", "kept")
    key = one(store.chunks_by_ids([gone_id])[0]).key
    store.delete([key], "test")
    store.forget([key], "test")
    assert store.put_vectors(EMBEDDER, {gone_id: vector(1, 0), kept_id: vector(0, 1)}) == [kept_id]


def test_a_restore_does_not_bring_back_what_was_forgotten(store: Store) -> None:
    kept, gone = written_turn(store, chunks=2)
    store.delete([gone.key], "test")
    store.forget([gone.key], "test")
    number = store.change_number()
    store.restore([Record(gone)], [], next_turn=0, next_position=0)
    assert chunks_of(store.chunks_from(0, 5)) == [kept]
    assert store.change_number() == number


def test_a_cleared_memory_is_empty_but_gives_nothing_out_twice(store: Store) -> None:
    left, right = written_turn(store, chunks=2)
    store.merge(left.key, right.key, "test")
    (chunk_id,) = written_texts(store, "the lighthouse")
    store.put_vectors(EMBEDDER, {chunk_id: vector(1, 0)})
    store.put_window(WindowRecord("w", "Window", b"state", 0, datetime.now(UTC)))
    store.journal_append("w", 3, b"under way")
    before, identity = store.stats(), store.identity()
    store.clear("test")
    after = store.stats()
    assert (after.chunks, after.merged_chunks, after.tokens, after.vectors) == (0, 0, 0, {})
    assert (after.next_turn, after.next_position) == (before.next_turn, before.next_position)
    assert after.change_number > before.change_number
    assert store.identity() != identity
    assert store.chunks_from(0, 5) == []
    assert store.merged_from(0, 5) == []
    assert store.search_words(["lighthouse"], 5) == []
    assert (store.windows(), store.journal("w")) == ([], [])
    assert [(entry.action, entry.key) for entry in store.audit()] == [("merge", right.key), ("clear", None)]
    (new_id,) = written_texts(store, "another lighthouse")
    assert new_id > chunk_id
    assert [match.id for match in store.search_words(["lighthouse"], 5)] == [new_id]
    assert store.verify() == []


def test_a_cleared_record_may_be_restored_but_what_was_forgotten_stays_so(store: Store) -> None:
    first, second = written_turn(store, chunks=2)
    store.delete([first.key], "test")
    store.forget([first.key], "test")
    log = store.audit()
    store.clear("test")
    store.restore([Record(first), Record(second)], log, next_turn=0, next_position=0)
    assert chunks_of(store.chunks_from(0, 5)) == [second]
    assert [entry.action for entry in store.audit()] == ["delete", "forget", "clear"]
    assert store.verify() == []


def test_a_memory_has_an_identity_that_stays(open_again: StoreFactory, other: Store) -> None:
    store = open_again()
    identity = store.identity()
    written_turn(store)
    store.close()
    assert open_again().identity() == identity
    assert other.identity() != identity
