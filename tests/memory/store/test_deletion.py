"""The contract of every store: deleted chunks and the audit log."""

from collections.abc import Callable
from itertools import pairwise

import pytest

from halo_weave.errors import InputError
from halo_weave.memory.store.protocol import Store
from halo_weave.records.chunks import ChunkKey
from support.made_up_chunks import written_texts, written_turn
from support.store_answers import EMBEDDER, chunks_of, one, vector


def test_delete_takes_a_chunk_out_of_search_and_keeps_its_record(store: Store) -> None:
    (kept_id, gone_id) = written_texts(store, "the lighthouse stands", "the lighthouse fell")
    store.put_vectors(EMBEDDER, {kept_id: vector(1, 0), gone_id: vector(0, 1)})
    (gone,) = chunks_of(store.chunks_by_ids([gone_id]))
    positions = range(gone.first_position, gone.end_position)
    assert store.delete([gone.key], "test").changed == (gone.key,)
    assert [match.id for match in store.search_words(["lighthouse"], 10)] == [kept_id]
    assert store.vectors_by_ids(EMBEDDER, [kept_id, gone_id])[0].tolist() == [kept_id]
    assert store.tokens_by_positions(positions) == []
    assert [token.key for token in store.tokens_by_positions(positions, include_deleted=True)] == [gone.key] * 3
    record = one(store.chunk(gone.key))
    assert (record.text, record.deleted, record.embedder) == (gone.text, True, None)
    assert record.deleted_at is not None
    assert record.undeleted_at is None
    assert store.verify() == []


def test_undelete_brings_the_words_back_and_asks_for_a_new_vector(store: Store) -> None:
    (chunk_id,) = written_texts(store, "the lighthouse fell")
    store.put_vectors(EMBEDDER, {chunk_id: vector(1, 0)})
    (chunk,) = chunks_of(store.chunks_by_ids([chunk_id]))
    store.delete([chunk.key], "test")
    assert store.ids_without_vector(EMBEDDER) == []
    assert store.undelete([chunk.key], "test").changed == (chunk.key,)
    assert [match.id for match in store.search_words(["lighthouse"], 10)] == [chunk_id]
    assert store.ids_without_vector(EMBEDDER) == [chunk_id]
    record = one(store.chunk(chunk.key))
    assert not record.deleted
    assert record.deleted_at is not None
    assert record.undeleted_at is not None
    assert record.undeleted_at >= record.deleted_at
    assert store.verify() == []


def test_what_is_so_already_is_said_and_not_logged(store: Store) -> None:
    first, second = (chunk.key for chunk in written_turn(store, chunks=2))
    assert store.undelete([first], "test") == ((), (first,))
    store.delete([first], "test")
    deleted_at = one(store.chunk(first)).deleted_at
    before = store.change_number()
    assert store.delete([first, first], "again") == ((), (first,))
    assert store.change_number() == before
    assert store.delete([first, second], "again") == ((second,), (first,))
    assert one(store.chunk(first)).deleted_at == deleted_at
    assert [(entry.action, entry.key) for entry in store.audit()] == [("delete", first), ("delete", second)]


def test_a_chunk_that_is_not_there_is_named_and_nothing_changes(store: Store) -> None:
    (chunk,) = written_turn(store)
    missing = ChunkKey(77, 0, "user")
    actions: list[Callable[[], object]] = [
        lambda: store.delete([chunk.key, missing], "test"),
        lambda: store.undelete([missing], "test"),
        lambda: store.merge(chunk.key, missing, "test"),
    ]
    for action in actions:
        with pytest.raises(InputError, match=r"no chunk 77:0 \(user\); nothing was changed"):
            action()
    assert one(store.chunk(chunk.key)) == chunk
    assert store.audit() == []


def test_the_audit_log_says_who_did_what_and_when(store: Store) -> None:
    left, right = (chunk.key for chunk in written_turn(store, chunks=2))
    store.delete([left], "person")
    store.undelete([left], "model")
    store.merge(left, right, "tool: größer")
    entries = store.audit()
    assert [(entry.origin, entry.action, entry.key) for entry in entries] == [
        ("person", "delete", left),
        ("model", "undelete", left),
        ("tool: größer", "merge", right),
    ]
    assert all(earlier.time <= later.time for earlier, later in pairwise(entries))
    assert store.audit(after=entries[0].number, limit=1) == entries[1:2]
