"""The contract of every store: one embedder's vectors replace another's."""

import numpy as np
import pytest

from halo_weave.errors import InputError
from halo_weave.memory.store.protocol import Store
from support.made_up_chunks import written_texts
from support.store_answers import EMBEDDER, one, vector
from support.store_factories import StoreFactory

NEW = "newer"


def test_nobody_serves_until_somebody_is_chosen_and_all_handles_see_who(open_again: StoreFactory) -> None:
    store, other = open_again(), open_again()
    assert store.serving_embedder() is None
    written_texts(store, "one without a vector")
    store.serve_embedder(EMBEDDER)
    assert other.serving_embedder() == EMBEDDER
    store.close()
    assert open_again().serving_embedder() == EMBEDDER


def test_another_embedder_serves_only_once_no_chunk_lacks_its_vector(store: Store) -> None:
    first_id, second_id = written_texts(store, "one", "two")
    store.put_vectors(EMBEDDER, {first_id: vector(1, 0), second_id: vector(0, 1)})
    store.serve_embedder(EMBEDDER)
    store.put_vectors(NEW, {first_id: vector(1, 0, 0)})
    with pytest.raises(InputError, match="newer cannot serve yet: 1 chunks have no vector of it; nothing was changed"):
        store.serve_embedder(NEW)
    assert store.serving_embedder() == EMBEDDER
    store.put_vectors(NEW, {second_id: vector(0, 1, 0)})
    (late_id,) = written_texts(store, "written meanwhile")
    with pytest.raises(InputError, match="cannot serve yet"):
        store.serve_embedder(NEW)
    store.delete([one(store.chunks_by_ids([late_id])[0]).key], "test")
    store.serve_embedder(NEW)
    assert store.serving_embedder() == NEW
    assert store.vectors_by_ids(EMBEDDER, [first_id])[1].tolist() == [[1, 0]]


def test_an_incomplete_set_serves_when_asked_to(store: Store) -> None:
    written_texts(store, "one")
    store.serve_embedder(EMBEDDER)
    store.serve_embedder(NEW, even_if_incomplete=True)
    assert store.serving_embedder() == NEW


def test_dropped_vectors_are_gone_and_others_learn_of_each(store: Store) -> None:
    ids = written_texts(store, "one", "two", "three")
    for name in (EMBEDDER, NEW):
        store.put_vectors(name, {chunk_id: vector(1, chunk_id) for chunk_id in ids})
    seen = store.change_number()
    assert store.drop_vectors(EMBEDDER) == 3
    assert store.change_number() == seen + 3
    changes = store.vectors_since(EMBEDDER, seen)
    assert (changes.ids.tolist(), changes.removed.tolist()) == ([], ids)
    assert store.ids_without_vector(EMBEDDER) == ids
    assert store.vectors_by_ids(NEW, ids)[0].tolist() == ids
    assert store.stats().vectors == {NEW: 3}
    assert store.drop_vectors(EMBEDDER) == store.drop_vectors("unknown") == 0
    store.put_vectors(EMBEDDER, {ids[0]: np.array([0, 1], dtype=np.float16)})
    assert store.stats().vectors == {EMBEDDER: 1, NEW: 3}
    assert store.verify() == []


def test_the_vectors_that_serve_cannot_be_dropped(store: Store) -> None:
    (chunk_id,) = written_texts(store, "one")
    store.put_vectors(EMBEDDER, {chunk_id: vector(1, 0)})
    store.serve_embedder(EMBEDDER)
    with pytest.raises(InputError, match=r"switch to another embedder first\. Nothing was changed"):
        store.drop_vectors(EMBEDDER)
    assert store.stats().vectors == {EMBEDDER: 1}
