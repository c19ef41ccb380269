"""The contract of every store: vectors of outdated texts, and a quick check."""

from halo_weave.memory.store.protocol import Store
from support.made_up_chunks import written_texts
from support.store_answers import EMBEDDER, vector


def test_outdated_vectors_are_gone_and_told_while_the_chunk_stays(store: Store) -> None:
    first, second = written_texts(store, "one", "other")
    store.put_vectors(EMBEDDER, {first: vector(1, 0), second: vector(0, 1)})
    store.put_vectors("wide", {first: vector(1, 2, 3)})
    before = store.change_number()
    store.outdate_vectors([first])
    assert store.ids_without_vector(EMBEDDER) == [first]
    assert store.ids_without_vector("wide") == [first, second]
    assert store.vectors_since(EMBEDDER, before).removed.tolist() == [first]
    assert [stored.chunk.text for stored in store.chunks_by_ids([first])] == ["one"]
    assert [match.id for match in store.search_words(["one"], 10)] == [first]
    assert store.verify() == []


def test_a_vector_of_a_text_read_before_it_was_outdated_is_not_kept(store: Store) -> None:
    (chunk_id,) = written_texts(store, "one")
    as_of = store.change_number()
    store.outdate_vectors([chunk_id])
    assert store.put_vectors(EMBEDDER, {chunk_id: vector(1, 0)}, as_of=as_of) == []
    assert store.put_vectors(EMBEDDER, {chunk_id: vector(1, 0)}, as_of=store.change_number()) == [chunk_id]


def test_outdating_nothing_or_what_is_not_there_changes_nothing(store: Store) -> None:
    before = store.change_number()
    store.outdate_vectors([])
    assert store.change_number() == before
    store.outdate_vectors([10**9])
    assert store.verify() == []


def test_a_sound_memory_passes_the_quick_check(store: Store) -> None:
    written_texts(store, "one", "other")
    assert store.check() == []
