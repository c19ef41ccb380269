"""The contract of every store: merging chunks."""

import msgspec
import pytest

from halo_weave.errors import InputError, StoreConflict
from halo_weave.memory.store.protocol import Store
from support.made_up_chunks import made_up_chunk, text_chunk, written_turn
from support.store_answers import EMBEDDER, all_tokens, chunks_of, vector


def test_merge_makes_one_chunk_under_the_left_key(store: Store) -> None:
    left, right, third = written_turn(store, chunks=3)
    ids = [one_.id for one_ in store.chunks_from(0, 10)]
    store.put_vectors(EMBEDDER, {chunk_id: vector(1, 0) for chunk_id in ids})
    before = store.change_number()
    merged = store.merge(left.key, right.key, "test")
    assert merged.id == ids[0]
    assert merged.chunk.key == left.key
    assert merged.chunk.tokens() == left.tokens() + right.tokens()
    assert merged.chunk.embedder is None
    assert chunks_of(store.chunks_from(0, 10)) == [merged.chunk, msgspec.structs.replace(third, embedder=EMBEDDER)]
    assert store.chunk(right.key) is None
    assert store.chunks_by_ids([ids[1]]) == []
    placed = [(token.position, token.text) for token in all_tokens([left, right])]
    restored = store.tokens_by_positions(range(left.first_position, right.end_position))
    assert [(token.position, token.text) for token in restored] == placed
    assert {token.key for token in restored} == {left.key}
    assert store.vectors_since(EMBEDDER, before).removed.tolist() == ids[:2]
    assert store.ids_without_vector(EMBEDDER) == [ids[0]]
    assert store.stats().merged_chunks == 1
    assert store.verify() == []


def test_the_next_index_is_above_all_that_ever_were(store: Store) -> None:
    *_, left, right = written_turn(store, chunks=4)
    assert store.next_index(right.key.turn, "user") == 4
    assert store.next_index(right.key.turn, "assistant") == store.next_index(9999, "user") == 0
    store.merge(left.key, right.key, "test")
    assert store.next_index(right.key.turn, "user") == 4
    store.delete([left.key], "test")
    store.forget([left.key], "test")
    assert store.next_index(right.key.turn, "user") == 4


def test_a_key_that_was_merged_away_is_never_used_again(store: Store) -> None:
    left, right = written_turn(store, chunks=2)
    store.merge(left.key, right.key, "test")
    later = store.reserve(10)
    with pytest.raises(StoreConflict, match="is already in the memory"):
        store.write_chunks([made_up_chunk(right.key.turn, right.key.index, first=later.position_start)])
    with pytest.raises(InputError, match="was merged into the one before it"):
        store.delete([right.key], "test")


def test_merging_finds_words_once_and_across_the_seam(store: Store) -> None:
    store.reserve(100)
    left, right = text_chunk(1, "a light", first=0), text_chunk(1, "house stands", first=2, index=1)
    ids = store.write_chunks([left, right])
    store.merge(left.key, right.key, "test")
    assert [match.id for match in store.search_words(["stands"], 10)] == ids[:1]
    assert [match.id for match in store.search_words(["lighthouse"], 10)] == ids[:1]


def test_only_living_neighbours_of_one_turn_and_role_can_be_merged(store: Store) -> None:
    store.reserve(100)
    chunks = [
        made_up_chunk(1, 0, first=0),
        made_up_chunk(1, 1, first=5),
        made_up_chunk(1, 2, first=11),
        made_up_chunk(1, 0, "assistant", first=16),
        made_up_chunk(2, 0, first=21),
        made_up_chunk(2, 1, first=26),
    ]
    store.write_chunks(chunks)
    store.delete([chunks[5].key], "test")
    before = store.chunks_from(0, 10)
    for left, right in ((0, 0), (1, 0), (1, 2), (2, 3), (3, 4), (4, 5)):
        with pytest.raises(InputError, match="cannot be merged"):
            store.merge(chunks[left].key, chunks[right].key, "test")
    assert store.chunks_from(0, 10) == before
