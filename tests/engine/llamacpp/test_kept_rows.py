"""The bounded cache of state that has left a context."""

import numpy as np
import pytest

from halo_weave.engine.llamacpp.kept_rows import KeptRows, Rows
from halo_weave.engine.protocol import Placed

OWNER, OTHER = 1, 2


def rows(first: int, count: int = 10, size: int = 100) -> Rows:
    tokens = tuple(Placed(position, position % 7) for position in range(first, first + count))
    return Rows(tokens, first, np.arange(count), np.full(size, first % 251, dtype=np.uint8))


def is_kept(store: KeptRows, wanted: Rows, owner: int = OWNER) -> bool:
    found = store.find(owner, wanted.tokens, 0, len(wanted.tokens))
    return found is not None and np.array_equal(found.rows.blob, wanted.blob)


def test_rows_are_found_from_any_of_their_tokens_on() -> None:
    store = KeptRows(1000)
    store.keep(OWNER, rows(100))
    wanted = [Placed(50, 0), *rows(100).tokens[3:8], Placed(300, 0)]
    assert store.find(OWNER, wanted, 0, 7) is None
    found = store.find(OWNER, wanted, 1, 7)
    assert found is not None
    assert (found.offset, found.length) == (3, 5)


def test_a_token_that_changed_ends_what_is_found() -> None:
    store = KeptRows(1000)
    store.keep(OWNER, rows(0))
    wanted = [*rows(0).tokens[:4], Placed(4, 6), *rows(0).tokens[5:]]
    found = store.find(OWNER, wanted, 0, 10)
    assert found is not None
    assert found.length == 4
    assert store.find(OWNER, wanted, 4, 10) is None


def test_rows_belong_to_the_context_that_computed_them() -> None:
    store = KeptRows(1000)
    store.keep(OWNER, rows(0))
    assert not is_kept(store, rows(0), OTHER)
    store.forget(OTHER)
    assert is_kept(store, rows(0))
    store.forget(OWNER)
    assert not is_kept(store, rows(0))
    assert store.memory_bytes == 0


def test_the_limit_is_never_passed_and_the_least_recently_used_goes_first() -> None:
    store = KeptRows(300)
    for first in (0, 100, 200):
        store.keep(OWNER, rows(first))
    assert is_kept(store, rows(0))
    store.keep(OWNER, rows(300))
    assert store.memory_bytes == 300
    assert is_kept(store, rows(0))
    assert not is_kept(store, rows(100))
    store.keep(OWNER, rows(400, size=301))
    assert not is_kept(store, rows(400))
    assert store.memory_bytes == 300


def test_the_same_tokens_kept_twice_are_found_in_their_newest_state() -> None:
    store = KeptRows(1000)
    store.keep(OWNER, rows(0))
    newer = rows(0)._replace(blob=np.full(50, 9, dtype=np.uint8))
    store.keep(OWNER, newer)
    assert is_kept(store, newer)
    found = store.find(OWNER, newer.tokens, 0, 10)
    assert found is not None
    store.drop(found.key)
    assert store.find(OWNER, newer.tokens, 0, 10) is None


@pytest.mark.parametrize("limit", [0, 50])
def test_a_store_without_room_keeps_nothing(limit: int) -> None:
    store = KeptRows(limit)
    store.keep(OWNER, rows(0))
    assert store.is_off == (limit == 0)
    assert not is_kept(store, rows(0))
