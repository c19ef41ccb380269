"""The contract of every store: writing and reading chunks."""

from datetime import UTC, datetime, timedelta, timezone

import msgspec
import pytest

from halo_weave.errors import InputError, StoreConflict
from halo_weave.memory.store.protocol import Store
from halo_weave.records.chunks import Chunk, ChunkKey, Stored
from support.made_up_chunks import TIME, made_up_chunk, text_chunk, written_turn
from support.store_answers import chunks_of, one


def test_a_chunk_comes_back_as_it_was_written(store: Store) -> None:
    reservation = store.reserve(100)
    metadata = {"conversation_id": "c-1", "tags": ["technical", "größe"], "window_id": "w", "deep": {"n": [1, None]}}
    chunk = made_up_chunk(reservation.turn_user, 7, "assistant", first=3, count=50, metadata=metadata)
    (chunk_id,) = store.write_chunks([chunk])
    assert store.chunk(chunk.key) == Stored(chunk_id, chunk)
    assert one(store.chunk(chunk.key)).tokens() == chunk.tokens()


def test_a_deleted_chunk_may_be_written_as_such(store: Store) -> None:
    store.reserve(10)
    chunk = msgspec.structs.replace(
        text_chunk(1, "forgotten words", first=0), deleted=True, deleted_at=TIME, undeleted_at=TIME - timedelta(1)
    )
    store.write_chunks([chunk])
    assert one(store.chunk(chunk.key)) == chunk
    assert store.search_words(["forgotten"], 5) == []
    assert store.verify() == []


def test_times_are_kept_to_the_microsecond_in_utc(store: Store) -> None:
    store.reserve(10)
    time = datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    store.write_chunks([msgspec.structs.replace(made_up_chunk(1, first=0), time=time)])
    (kept,) = store.chunks_of_turn(1)
    assert kept.chunk.time == time
    assert kept.chunk.time.tzinfo is UTC


def test_a_key_is_written_once_and_a_second_time_is_a_conflict(store: Store) -> None:
    (chunk,) = written_turn(store)
    later = store.reserve(10)
    again = made_up_chunk(chunk.key.turn, first=later.position_start, count=9)
    with pytest.raises(StoreConflict, match=r"Chunk 1:0 \(user\) is already in the memory; nothing was written"):
        store.write_chunks([again])
    assert chunks_of(store.chunks_from(0, 10)) == [chunk]


@pytest.mark.parametrize(("first", "count"), [(10, 5), (8, 3), (14, 3), (11, 2), (8, 12)])
def test_a_position_is_written_once_and_a_second_time_is_a_conflict(store: Store, first: int, count: int) -> None:
    store.reserve(100)
    there = [made_up_chunk(1, 0, first=10, count=5), made_up_chunk(1, 1, first=30, count=5)]
    store.write_chunks(there)
    with pytest.raises(StoreConflict, match=r"positions 10 to 14; nothing was written"):
        store.write_chunks([made_up_chunk(2, first=first, count=count)])
    assert chunks_of(store.chunks_from(0, 10)) == there


def test_chunks_that_touch_do_not_overlap(store: Store) -> None:
    store.reserve(100)
    store.write_chunks([made_up_chunk(1, 0, first=10, count=5)])
    store.write_chunks([made_up_chunk(1, 1, first=5, count=5), made_up_chunk(1, 2, first=15, count=5)])
    assert [stored.chunk.first_position for stored in store.chunks_from(0, 10)] == [5, 10, 15]


@pytest.mark.parametrize(
    "bad",
    [
        made_up_chunk(1, 0, first=50),
        made_up_chunk(2, 1, first=23),
        made_up_chunk(2, 1, first=98),
        made_up_chunk(3, 0, first=50),
    ],
    ids=["key in the same call", "position in the same call", "position not reserved", "turn not reserved"],
)
def test_all_chunks_of_a_call_are_written_or_none(store: Store, bad: Chunk) -> None:
    store.reserve(100)
    before = store.change_number()
    with pytest.raises((StoreConflict, InputError), match="nothing was written"):
        store.write_chunks([made_up_chunk(1, 0, first=20), made_up_chunk(2, 0, first=10), bad])
    assert store.chunks_from(0, 10) == []
    assert store.search_words(["sea", "light", "running"], 10) == []
    assert store.change_number() == before
    assert store.verify() == []


def test_chunks_are_found_by_turn_by_id_and_by_walking(store: Store) -> None:
    turns = [written_turn(store, chunks=3) for _ in range(4)]
    everything = [chunk for turn in turns for chunk in turn]
    assert chunks_of(store.chunks_of_turn(turns[2][0].key.turn)) == turns[2]
    assert store.chunks_of_turn(999) == []
    assert store.chunk(ChunkKey(1, 0, "assistant")) is None
    walked: list[Stored] = []
    while batch := store.chunks_from(walked[-1].chunk.end_position if walked else 0, 5):
        walked += batch
    assert chunks_of(walked) == everything
    asked = [walked[7].id, walked[2].id, 10**9, walked[7].id]
    assert store.chunks_by_ids(asked) == [walked[7], walked[2], walked[7]]


def test_chunks_are_in_order_of_position_not_of_writing(store: Store) -> None:
    store.reserve(100)
    store.write_chunks([made_up_chunk(1, 0, first=50), made_up_chunk(1, 1, first=10), made_up_chunk(2, 0, first=30)])
    assert [stored.chunk.first_position for stored in store.chunks_from(0, 10)] == [10, 30, 50]
    assert [stored.chunk.key.index for stored in store.chunks_of_turn(1)] == [1, 0]
