"""What every store must do, whatever stands behind it."""

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from halo_weave.errors import InputError, StoreConflict, StoreUnavailable
from halo_weave.memory.records import Chunk, ChunkKey, PlacedToken, Stored
from halo_weave.memory.store import FIRST_POSITION, FIRST_TURN, Store
from made_up_chunks import TIME, made_up_chunk, text_chunk, written_texts, written_turn
from store_factories import STORES, StoreFactory, fresh_memory

EMBEDDER = "made-up"
PAST_64_BITS = 2**64 + 12345678901234567890
FAR = 2**2040 + 7


@pytest.fixture(params=STORES)
def open_again(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StoreFactory]:
    with fresh_memory(request.param, tmp_path) as factory:
        yield factory


@pytest.fixture
def store(open_again: StoreFactory) -> Store:
    return open_again()


def vector(*values: float) -> np.ndarray[Any, np.dtype[np.float16]]:
    return np.array(values, dtype=np.float16)


def chunks_of(stored: list[Stored]) -> list[Chunk]:
    return [one.chunk for one in stored]


def one(stored: Stored | None) -> Chunk:
    assert stored is not None
    return stored.chunk


def all_tokens(chunks: list[Chunk]) -> list[PlacedToken]:
    return [
        PlacedToken(chunk.first_position + place, token.id, token.text, chunk.key)
        for chunk in chunks
        for place, token in enumerate(chunk.tokens())
    ]


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
    with pytest.raises(InputError, match="below 0"):
        store.advance(next_turn=-1, next_position=0)


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
    with pytest.raises(StoreConflict, match=r"Chunk 1:0 \(user\) is in the memory already; nothing was written"):
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


def test_tokens_come_back_in_ascending_order_each_once(store: Store) -> None:
    store.reserve(100)
    chunks = [made_up_chunk(1, 0, first=10, count=20), made_up_chunk(1, 1, first=40, count=20)]
    store.write_chunks(chunks)
    tokens = all_tokens(chunks)
    assert store.tokens_by_positions([]) == []
    assert store.tokens_by_positions(range(100)) == tokens
    assert store.tokens_by_positions([59, 10, 10, 12, 35, 99, 10**30]) == [tokens[0], tokens[2], tokens[-1]]
    assert store.tokens_by_positions([0, 9, 30, 39, 60]) == []


@pytest.mark.parametrize("position", [-1, 1.0, True, "1"])
def test_what_is_no_position_is_refused(store: Store, position: Any) -> None:
    with pytest.raises(InputError):
        store.tokens_by_positions([0, position])


@given(st.data())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_set_of_positions_is_restored(store: Store, data: st.DataObject) -> None:
    start = store.reserve(200).position_start
    first = start
    chunks: list[Chunk] = []
    turn = store.stats().next_turn - 1
    for gap, count in data.draw(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 12)), max_size=8)):
        chunks.append(made_up_chunk(turn, len(chunks), first=first + gap, count=count))
        first += gap + count
    store.write_chunks(chunks)
    wanted = [start + offset for offset in data.draw(st.lists(st.integers(0, 150)))]
    assert store.tokens_by_positions(wanted) == [token for token in all_tokens(chunks) if token.position in set(wanted)]


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


def test_a_key_that_was_merged_away_is_never_used_again(store: Store) -> None:
    left, right = written_turn(store, chunks=2)
    store.merge(left.key, right.key, "test")
    later = store.reserve(10)
    with pytest.raises(StoreConflict, match="is in the memory already"):
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


def test_vectors_are_kept_by_embedder_and_replaced(store: Store) -> None:
    one_id, other_id = written_texts(store, "one", "other")
    assert store.put_vectors(EMBEDDER, {one_id: vector(1, 0), other_id: vector(0, 1)}) == [one_id, other_id]
    wide = np.array([1, 2, 3], dtype=np.float32)
    store.put_vectors("wide", {one_id: wide})
    store.put_vectors(EMBEDDER, {one_id: vector(0.5, 0.5)})
    ids, vectors = store.vectors_by_ids(EMBEDDER, [other_id, 10**9, one_id])
    assert ids.tolist() == [other_id, one_id]
    assert vectors.dtype == np.float16
    assert vectors.tolist() == [[0, 1], [0.5, 0.5]]
    ids, vectors = store.vectors_by_ids("wide", [one_id, other_id])
    assert vectors.dtype == np.float32
    assert (ids.tolist(), vectors.tolist()) == ([one_id], [[1, 2, 3]])
    assert [stored.chunk.embedder for stored in store.chunks_from(0, 5)] == [EMBEDDER, EMBEDDER]
    assert store.stats().vectors == {EMBEDDER: 2, "wide": 1}
    assert store.verify() == []


def test_an_embedder_without_vectors_has_none(store: Store) -> None:
    (chunk_id,) = written_texts(store, "one")
    changes = store.vectors_since("unknown", 0)
    assert (len(changes.ids), len(changes.removed)) == (0, 0)
    assert len(store.vectors_by_ids("unknown", [chunk_id])[0]) == 0
    assert store.ids_without_vector("unknown") == [chunk_id]
    assert store.put_vectors("unknown", {}) == []


@pytest.mark.parametrize(
    "bad",
    [
        vector(1, 0, 0),
        vector(),
        vector(np.nan, 0),
        vector(np.inf, 0),
        np.zeros((1, 2), dtype=np.float16),
        np.zeros(2, dtype=np.float32),
        np.zeros(2, dtype=np.float64),
    ],
)
def test_vectors_of_another_form_are_refused_and_none_is_kept(store: Store, bad: Any) -> None:
    first_id, second_id = written_texts(store, "one", "other")
    store.put_vectors(EMBEDDER, {first_id: vector(1, 0)})
    with pytest.raises(InputError, match="vector"):
        store.put_vectors(EMBEDDER, {first_id: vector(0, 1), second_id: bad})
    ids, vectors = store.vectors_by_ids(EMBEDDER, [first_id, second_id])
    assert (ids.tolist(), vectors.tolist()) == ([first_id], [[1, 0]])


@pytest.mark.parametrize("bad", [vector(), np.zeros((2, 2), dtype=np.float16), np.zeros(2, dtype=np.int32)])
def test_an_embedder_cannot_begin_with_what_is_no_vector(store: Store, bad: Any) -> None:
    (chunk_id,) = written_texts(store, "one")
    with pytest.raises(InputError, match="not a row of float16 or float32"):
        store.put_vectors(EMBEDDER, {chunk_id: bad})
    assert store.stats().vectors == {}


def test_a_vector_needs_a_living_chunk(store: Store) -> None:
    left, right = written_turn(store, chunks=2)
    left_id, right_id = (stored.id for stored in store.chunks_from(0, 5))
    (deleted_id,) = written_texts(store, "deleted")
    store.delete([one(store.chunks_by_ids([deleted_id])[0]).key], "test")
    store.merge(left.key, right.key, "test")
    vectors = {chunk_id: vector(1, 0) for chunk_id in (left_id, right_id, deleted_id)}
    assert store.put_vectors(EMBEDDER, vectors) == [left_id]
    with pytest.raises(InputError, match="no chunk with id 1000000000"):
        store.put_vectors(EMBEDDER, {left_id: vector(0, 1), 10**9: vector(1, 0)})
    assert store.vectors_by_ids(EMBEDDER, [left_id])[1].tolist() == [[1, 0]]


def test_a_vector_of_a_text_that_changed_meanwhile_is_left_out(store: Store) -> None:
    left, right, other = written_turn(store, chunks=3)
    ids = [stored.id for stored in store.chunks_from(0, 5)]
    read_at = store.change_number()
    store.merge(left.key, right.key, "test")
    vectors = {chunk_id: vector(1, 0) for chunk_id in (ids[0], ids[2])}
    assert store.put_vectors(EMBEDDER, vectors, as_of=read_at) == [ids[2]]
    assert store.put_vectors(EMBEDDER, vectors, as_of=store.change_number()) == [ids[0], ids[2]]
    assert one(store.chunk(other.key)).embedder == EMBEDDER


def test_another_handle_catches_up_with_vectors_in_pages(open_again: StoreFactory) -> None:
    store, other = open_again(), open_again()
    ids = written_texts(store, *(f"text {number}" for number in range(7)))
    store.put_vectors(EMBEDDER, {chunk_id: vector(chunk_id, 1) for chunk_id in ids})
    mirror: dict[int, list[float]] = {}
    reached = catch_up(other, mirror, 0)
    assert mirror == {chunk_id: [chunk_id, 1] for chunk_id in ids}
    store.delete([one(store.chunks_by_ids([ids[3]])[0]).key], "test")
    store.put_vectors(EMBEDDER, {ids[0]: vector(9, 9)})
    assert catch_up(other, mirror, reached) > reached
    assert ids[3] not in mirror
    assert mirror[ids[0]] == [9, 9]
    assert len(mirror) == 6


def catch_up(store: Store, mirror: dict[int, list[float]], reached: int) -> int:
    while True:
        changes = store.vectors_since(EMBEDDER, reached, limit=3)
        if not len(changes.ids) and not len(changes.removed):
            return reached
        assert len(changes.ids) + len(changes.removed) <= 3
        assert changes.change_number > reached
        reached = changes.change_number
        mirror.update(zip(changes.ids.tolist(), changes.vectors.tolist(), strict=True))
        for chunk_id in changes.removed.tolist():
            mirror.pop(chunk_id, None)


def test_chunks_that_lack_a_vector_are_listed_in_pages(store: Store) -> None:
    ids = written_texts(store, *(f"text {number}" for number in range(5)))
    store.put_vectors(EMBEDDER, {ids[1]: vector(1, 0)})
    assert store.ids_without_vector(EMBEDDER, limit=2) == [ids[0], ids[2]]
    assert store.ids_without_vector(EMBEDDER, after=ids[2], limit=10) == ids[3:]


def test_words_are_found_best_first(store: Store) -> None:
    ids = written_texts(
        store, "the sea and the shore", "the sea the sea the sea", "a hill", "sea and hill and a long tail of words"
    )
    matches = store.search_words(["sea"], 10)
    assert matches[0].id == ids[1]
    assert {match.id for match in matches} == {ids[0], ids[1], ids[3]}
    assert [match.score for match in matches] == sorted((match.score for match in matches), reverse=True)
    assert store.search_words(["sea"], 2) == matches[:2]
    assert store.search_words(["sea"], 0) == []
    assert store.search_words(["sea", "hill"], 10)[0].id == ids[3]


def test_words_are_found_by_stem_without_accents_and_as_phrases(store: Store) -> None:
    running, greeting, phrase = written_texts(store, "she was running home", "Viele Grüße", "user-friendly pages")
    for term, found in {
        "runs": running,
        "RUNNING": running,
        "grüße": greeting,
        "GRUßE": greeting,
        "user friendly": phrase,
        "user-friendly": phrase,
    }.items():
        assert [match.id for match in store.search_words([term], 10)] == [found], term
    assert store.search_words(["friendly user"], 10) == []


def test_equally_good_matches_are_in_order_of_writing(store: Store) -> None:
    ids = written_texts(store, *["the same words"] * 5)
    assert [match.id for match in store.search_words(["words"], 3)] == ids[:3]


@pytest.mark.parametrize(
    "term",
    ["", "  ", '"', '""', "*", "sea*", "AND", "NOT sea", "NEAR(sea, 2)", "text:sea", "^sea", "(sea", "\0", "sea\0hill"],
)
def test_no_text_is_an_error_in_a_search(store: Store, term: str) -> None:
    written_texts(store, "the sea")
    store.search_words([term], 5)
    for quoted in (term, f"-{term}", f"{{text}}:{term}", f"'; {term}; --", f"\ud83d{term}"):
        assert len(store.search_words([quoted, "sea"], 5)) == 1


@given(st.lists(st.text(max_size=12)))
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_terms_can_be_searched_for(store: Store, terms: list[str]) -> None:
    assert store.search_words(terms, 5) == []


def test_very_many_terms_can_be_searched_for(store: Store) -> None:
    (chunk_id,) = written_texts(store, "the sea")
    terms = [f"word{number}" for number in range(3000)]
    assert [match.id for match in store.search_words([*terms, "sea"], 5)] == [chunk_id]


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
        with pytest.raises(StoreUnavailable, match="was closed"):
            action()
