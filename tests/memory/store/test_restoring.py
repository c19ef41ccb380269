"""The contract of every store: records from another memory."""

import msgspec
import pytest

from halo_weave.errors import InputError, StoreConflict
from halo_weave.memory.store.protocol import Store
from halo_weave.records.chunks import AuditEntry, ChunkKey, Record
from support.made_up_chunks import TIME, made_up_chunk, written_texts, written_turn
from support.store_answers import EMBEDDER, chunks_of, one, vector


def entry(action: str, key: ChunkKey | None) -> AuditEntry:
    return msgspec.convert({"number": 9, "time": TIME, "origin": "there", "action": action, "key": key}, AuditEntry)


def test_what_was_merged_away_is_read_in_order_of_position_with_what_it_is_part_of(store: Store) -> None:
    first, second, third, fourth = written_turn(store, chunks=4)
    assert store.merged_from(0, 10) == []
    store.merge(third.key, fourth.key, "test")
    store.merge(first.key, second.key, "test")
    assert store.merged_from(0, 10) == [Record(second, 0), Record(fourth, 2)]
    assert store.merged_from(0, 1) == [Record(second, 0)]
    assert store.merged_from(second.first_position + 1, 10) == [Record(fourth, 2)]
    assert store.merged_from(fourth.first_position + 1, 10) == []


def test_a_chunk_that_was_merged_and_merged_again_names_the_one_it_went_into(store: Store) -> None:
    first, second, third = written_turn(store, chunks=3)
    joined = store.merge(second.key, third.key, "test").chunk
    store.merge(first.key, second.key, "test")
    assert store.merged_from(0, 10) == [Record(joined, 0), Record(third, 1)]


def test_records_come_back_as_they_were(store: Store, other: Store) -> None:
    left, right, deleted = written_turn(store, chunks=3)
    store.merge(left.key, right.key, "test")
    store.delete([deleted.key], "test")
    stats = store.stats()
    records = [*map(Record, chunks_of(store.chunks_from(0, 10))), *store.merged_from(0, 10)]
    other.restore(records, store.audit(), next_turn=stats.next_turn, next_position=stats.next_position)
    assert chunks_of(other.chunks_from(0, 10)) == chunks_of(store.chunks_from(0, 10))
    assert other.merged_from(0, 10) == store.merged_from(0, 10)
    assert other.audit() == store.audit()
    assert other.reserve(1) == store.reserve(1)
    assert other.chunk(right.key) is None
    assert [match.id for match in other.search_words(["sea", "light"], 5)] == [
        match.id for match in store.search_words(["sea", "light"], 5)
    ]
    assert other.verify() == []


def test_restored_chunks_are_new_to_those_who_follow_the_changes(store: Store) -> None:
    (there,) = written_texts(store, "there before")
    store.put_vectors(EMBEDDER, {there: vector(1, 0)})
    before = store.change_number()
    store.restore([Record(made_up_chunk(50, first=5000))], [], next_turn=51, next_position=6000)
    assert store.change_number() > before
    assert store.ids_without_vector(EMBEDDER) == [store.chunks_of_turn(50)[0].id]


def test_a_restore_never_takes_numbers_back(store: Store) -> None:
    store.advance(next_turn=100, next_position=1000)
    store.restore([Record(made_up_chunk(1, first=0))], [], next_turn=2, next_position=5)
    reservation = store.reserve(1)
    assert (reservation.turn_user, reservation.position_start) == (100, 1000)


def test_all_records_are_restored_or_none(store: Store) -> None:
    (there,) = written_turn(store)
    new = Record(made_up_chunk(50, first=5000))
    bad = {
        "is already in the memory": Record(msgspec.structs.replace(there, first_position=5500)),
        "positions 0 to 4": Record(made_up_chunk(51, first=4)),
        "was never reserved": Record(made_up_chunk(60, first=5500)),
        "is not part of the chunk": Record(made_up_chunk(50, 1, first=5500), merged_into=0),
    }
    before, stats = store.chunks_from(0, 10), store.stats()
    for reason, record in bad.items():
        with pytest.raises((StoreConflict, InputError), match=reason):
            store.restore([new, record], [entry("delete", new.chunk.key)], next_turn=60, next_position=6000)
        assert store.chunks_from(0, 10) == before
        assert store.stats() == stats
        assert store.audit() == []


def test_the_log_of_what_was_here_before_is_not_doubled(store: Store) -> None:
    (there,) = written_turn(store)
    store.delete([there.key], "here")
    own = store.audit()
    new = made_up_chunk(50, first=5000)
    gone = ChunkKey(40, 0, "user")
    foreign = [entry("delete", there.key), entry("delete", new.key), entry("forget", gone), entry("clear", None)]
    for _ in range(2):
        store.restore([] if store.chunk(new.key) else [Record(new)], foreign, next_turn=51, next_position=6000)
        assert [(one_.action, one_.key) for one_ in store.audit()[len(own) :]] == [
            ("delete", new.key),
            ("forget", gone),
            ("clear", None),
        ]
    assert one(store.chunk(new.key)) == new
