"""The contract of every store: several handles and threads at once, and its statistics."""

import threading
from itertools import pairwise

import pytest

from halo_weave.errors import StoreUnavailable
from halo_weave.memory.store.protocol import FIRST_POSITION, FIRST_TURN, Store
from support.made_up_chunks import written_turn
from support.store_answers import EMBEDDER, chunks_of, one, vector
from support.store_factories import StoreFactory


def test_the_change_number_grows_with_every_change_and_others_see_it(open_again: StoreFactory) -> None:
    store, other = open_again(), open_again()
    seen = [other.change_number()]
    left, right = written_turn(store, chunks=2)
    seen.append(other.change_number())
    store.put_vectors(EMBEDDER, {store.chunks_from(0, 1)[0].id: vector(1, 0)})
    seen.append(other.change_number())
    for action in (
        lambda: store.delete([left.key], "test"),
        lambda: store.undelete([left.key], "test"),
        lambda: store.merge(left.key, right.key, "test"),
    ):
        action()
        seen.append(other.change_number())
    assert all(earlier < later for earlier, later in pairwise(seen))
    store.reserve(5)
    assert other.change_number() == seen[-1]


def test_handles_see_each_others_writes_at_once(open_again: StoreFactory) -> None:
    store, other = open_again(), open_again()
    assert other.chunks_from(0, 5) == []
    (chunk,) = written_turn(store)
    assert chunks_of(other.chunks_from(0, 5)) == [chunk]
    other.delete([chunk.key], "other")
    assert one(store.chunk(chunk.key)).deleted
    assert other.reserve(5).position_start == store.reserve(5).position_start - 5


def test_stats_count_what_is_there(store: Store) -> None:
    first, second, _ = written_turn(store, chunks=3, count=4)
    store.delete([first.key], "test")
    stats = store.stats()
    assert (stats.chunks, stats.deleted_chunks, stats.merged_chunks, stats.tokens) == (3, 1, 0, 12)
    assert (stats.next_turn, stats.next_position) == (FIRST_TURN + 2, FIRST_POSITION + 12)
    assert stats.change_number == store.change_number()
    assert stats.bytes > 0
    assert second.key == one(store.chunk(second.key)).key


def test_several_threads_read_and_write_one_store(store: Store) -> None:
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(5):
                (chunk,) = written_turn(store)
                assert one(store.chunk(chunk.key)) == chunk
                store.delete([chunk.key], "thread")
                assert store.tokens_by_positions(range(chunk.first_position, chunk.end_position)) == []
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert store.stats().deleted_chunks == 30
    assert store.verify() == []


def test_a_closed_store_says_so(store: Store) -> None:
    store.close()
    store.close()
    for action in (lambda: store.reserve(1), lambda: store.change_number(), lambda: store.verify()):
        with pytest.raises(StoreUnavailable, match="has been closed"):
            action()
