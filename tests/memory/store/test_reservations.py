"""The contract of every store: turns and positions are given out once and without a limit."""

import threading
from itertools import pairwise
from typing import Any

import pytest

from halo_weave.errors import InputError
from halo_weave.memory.store.protocol import FIRST_POSITION, FIRST_TURN, Store
from support.made_up_chunks import made_up_chunk, written_turn
from support.store_answers import all_tokens, chunks_of
from support.store_factories import StoreFactory

PAST_64_BITS = 2**64 + 12345678901234567890
FAR = 2**2040 + 7


def test_reservations_follow_each_other_without_overlap(store: Store) -> None:
    first, second = store.reserve(100), store.reserve(1)
    assert (first.turn_user, first.turn_assistant) == (FIRST_TURN, FIRST_TURN + 1)
    assert (first.position_start, first.position_end) == (FIRST_POSITION, FIRST_POSITION + 100)
    assert (second.turn_user, second.turn_assistant) == (FIRST_TURN + 2, FIRST_TURN + 3)
    assert (second.position_start, second.position_end) == (first.position_end, first.position_end + 1)


def test_reservations_go_on_when_the_memory_is_opened_again(open_again: StoreFactory) -> None:
    store = open_again()
    first = store.reserve(10)
    store.close()
    assert open_again().reserve(10).position_start == first.position_end


@pytest.mark.parametrize("tokens", [0, -1, 1.0, True, "10", None])
def test_only_a_whole_number_of_tokens_can_be_reserved(store: Store, tokens: Any) -> None:
    with pytest.raises(InputError):
        store.reserve(tokens)
    assert store.reserve(1).position_start == FIRST_POSITION


def test_threads_that_reserve_at_once_never_share_anything(store: Store) -> None:
    got = []
    threads = [threading.Thread(target=lambda: got.extend([store.reserve(3) for _ in range(20)])) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    got.sort(key=lambda reservation: reservation.position_start)
    assert len(got) == 80
    assert all(earlier.position_end == later.position_start for earlier, later in pairwise(got))
    assert len({turn for one in got for turn in (one.turn_user, one.turn_assistant)}) == 160


@pytest.mark.parametrize("far", [2**63, PAST_64_BITS, FAR])
def test_turns_and_positions_have_no_upper_limit(store: Store, far: int) -> None:
    before = written_turn(store)
    store.advance(next_turn=far, next_position=far)
    reservation = store.reserve(far)
    assert reservation.position_end == 2 * far
    chunks = [made_up_chunk(far, 0, first=far, count=3), made_up_chunk(far, 1, first=far + 3, count=2)]
    store.write_chunks(chunks)
    assert chunks_of(store.chunks_from(0, 10)) == before + chunks
    assert chunks_of(store.chunks_from(far + 1, 10)) == chunks[1:]
    assert chunks_of(store.chunks_of_turn(far)) == chunks
    assert store.tokens_by_positions(range(far - 2, far + 9)) == all_tokens(chunks)
    assert store.stats().next_position == 2 * far
    assert store.verify() == []


def test_advancing_never_goes_back(store: Store) -> None:
    store.advance(next_turn=100, next_position=1000)
    store.advance(next_turn=5, next_position=5)
    reservation = store.reserve(1)
    assert (reservation.turn_user, reservation.position_start) == (100, 1000)
    with pytest.raises(InputError, match="is negative"):
        store.advance(next_turn=-1, next_position=0)
