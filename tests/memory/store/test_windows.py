"""The contract of every store: windows, their burials, timelines and journals."""

import threading
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from halo_weave.errors import InputError, StoreConflict
from halo_weave.memory.store.protocol import Store
from halo_weave.memory.store.windows import TIMELINE_BYTES
from halo_weave.records.chunks import ChunkKey
from halo_weave.records.windows import (
    BurialGap,
    BurialPlace,
    BurialRecord,
    ChunkPage,
    JournalEntry,
    TimelineEntry,
    WindowOutline,
    WindowRecord,
)
from support.made_up_chunks import TIME, made_up_chunk, written_turn
from support.store_factories import StoreFactory

WINDOW = WindowRecord("w-1", "Größe", b"\0state\xff", 0, TIME)
PAST_64_BITS = 2**64 + 7


def saved(store: Store, window: WindowRecord, durable: bool = True) -> WindowRecord:
    return msgspec.structs.replace(window, version=store.put_window(window, durable=durable))


@pytest.mark.parametrize("durable", [True, False])
def test_a_window_comes_back_as_it_was_saved(open_again: StoreFactory, durable: bool) -> None:
    store = open_again()
    first = saved(store, WINDOW, durable)
    assert (first.version, store.window_version("w-1"), store.window("w-1")) == (1, 1, first)
    second = saved(store, msgspec.structs.replace(first, name="", state=b""), durable)
    store.close()
    assert open_again().window("w-1") == second
    assert second.version == 2
    assert open_again().window_version("w-1") == 2


def test_a_window_that_is_not_there_is_none(store: Store) -> None:
    assert store.window("nobody") is None
    assert store.window_version("nobody") == 0
    assert store.windows() == []
    assert not store.delete_window("nobody")


def test_windows_are_listed_without_their_states_the_last_saved_first(store: Store) -> None:
    store.put_window(WINDOW)
    later = TIME.replace(year=TIME.year + 1)
    store.put_window(msgspec.structs.replace(WINDOW, id="w-2", saved_at=later))
    assert store.windows() == [
        WindowOutline("w-2", "Größe", 1, later, 7),
        WindowOutline("w-1", "Größe", 1, TIME, 7),
    ]


def test_a_window_that_somebody_else_saved_or_deleted_meanwhile_is_a_conflict(open_again: StoreFactory) -> None:
    store, other = open_again(), open_again()
    read = saved(store, WINDOW)
    newer = saved(other, msgspec.structs.replace(read, state=b"newer"))
    for old in (WINDOW, read):
        with pytest.raises(StoreConflict, match=r"Window w-1 was saved or deleted elsewhere .*nothing was writ"):
            store.put_window(old)
    assert store.window("w-1") == newer
    assert other.delete_window("w-1")
    with pytest.raises(StoreConflict, match="elsewhere"):
        store.put_window(newer)
    assert store.window("w-1") is None


def test_of_threads_that_save_at_once_one_wins(store: Store) -> None:
    outcomes: list[int | None] = []

    def save() -> None:
        try:
            outcomes.append(store.put_window(WINDOW, durable=False))
        except StoreConflict:
            outcomes.append(None)

    threads = [threading.Thread(target=save) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes, key=str) == [1] + [None] * 5


@pytest.mark.parametrize(
    "bad",
    [{"version": -1}, {"version": 1.0}, {"version": 2**63}, {"saved_at": TIME.replace(tzinfo=None)}, {"id": "\ud83d"}],
)
def test_what_is_no_window_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="window"):
        msgspec.structs.replace(WINDOW, **bad)


def burial(turn: int, *, minutes: int = 0, reason: str = "It was dim.") -> BurialRecord:
    return BurialRecord(ChunkKey(turn, 0, "user"), turn * 10, 1.5, reason, TIME + timedelta(minutes=minutes))


def test_burials_come_back_with_the_window_they_were_saved_with(open_again: StoreFactory) -> None:
    store = open_again()
    kept, raised = burial(PAST_64_BITS), burial(1)
    store.put_window(WINDOW, buried=[kept, raised])
    newer = burial(2, reason="Größe 🦉")
    store.put_window(msgspec.structs.replace(WINDOW, version=1), buried=[newer], raised=[raised.key])
    store.close()
    store = open_again()
    keys = [kept.key, raised.key, newer.key, kept.key]
    assert store.burials_by_keys("w-1", keys) == {kept.key: kept, newer.key: newer}
    assert store.count_burials("w-1") == 2
    assert store.burials_by_keys("w-2", keys) == {}
    assert (store.count_burials("w-2"), store.burials("w-2")) == (0, [])
    assert store.verify() == []


def test_a_chunk_is_buried_once_in_a_window_and_the_last_time_counts(store: Store) -> None:
    store.put_window(WINDOW, buried=[burial(1)])
    again = msgspec.structs.replace(burial(1, minutes=5, reason="Again."), peak=3)
    store.put_window(msgspec.structs.replace(WINDOW, version=1), buried=[again])
    assert store.burials("w-1") == [again]
    assert store.verify() == []


def test_a_conflict_changes_no_burials(store: Store) -> None:
    store.put_window(WINDOW, buried=[burial(1)])
    with pytest.raises(StoreConflict):
        store.put_window(WINDOW, buried=[burial(2)], raised=[burial(1).key])
    assert store.burials("w-1") == [burial(1)]


def test_burials_are_read_in_pages_the_newest_first(store: Store) -> None:
    turns = [3, 2**64, 1, 255, 256, 7]
    buried = [burial(turn, minutes=place // 2) for place, turn in enumerate(turns)]
    store.put_window(WINDOW, buried=buried)
    store.put_window(msgspec.structs.replace(WINDOW, id="w-2"), buried=[burial(4, minutes=1)])
    in_order = sorted(buried, key=lambda one: one.place, reverse=True)
    assert store.burials("w-1") == in_order
    for start in range(len(turns)):
        assert store.burials("w-1", before=in_order[start].place, limit=2) == in_order[start + 1 : start + 3]
    between = BurialPlace(TIME + timedelta(seconds=90), ChunkKey(0, 0, "user"))
    assert store.burials("w-1", before=between) == in_order[2:]


def test_gaps_tell_what_is_buried_between_positions(store: Store) -> None:
    chunks = [written_turn(store)[0] for _ in range(8)]
    buried = [
        BurialRecord(chunk.key, chunk.first_position, 0.0, f"Reason {place}.", TIME + timedelta(minutes=place % 3))
        for place, chunk in enumerate(chunks)
    ]
    store.put_window(WINDOW, buried=[one for place, one in enumerate(buried) if place != 4])
    store.delete([chunks[7].key], "test")
    start = [chunk.first_position for chunk in chunks]
    assert store.burial_gaps("w-1", [start[0], start[3], start[4], start[6]], keys=1) == [
        None,
        BurialGap(2, 10, chunks[1].time, chunks[2].time, buried[2], (chunks[1].key,)),
        None,
        BurialGap(1, 5, chunks[5].time, chunks[5].time, buried[5], (chunks[5].key,)),
        None,
    ]
    (everything,) = store.burial_gaps("w-1", [], keys=2)
    assert everything == BurialGap(6, 30, chunks[0].time, chunks[6].time, buried[2], (chunks[0].key, chunks[1].key))
    assert store.burial_gaps("w-2", [start[2]], keys=9) == [None, None]


def test_what_was_merged_away_is_in_no_gap(store: Store) -> None:
    left, right = written_turn(store, chunks=2)
    buried = [BurialRecord(one.key, one.first_position, 0.0, "Dim.", TIME) for one in (left, right)]
    store.put_window(WINDOW, buried=buried)
    store.merge(left.key, right.key, "test")
    assert store.burial_gaps("w-1", [], keys=9) == [BurialGap(1, 10, left.time, left.time, buried[0], (left.key,))]


def test_what_is_forgotten_or_cleared_is_buried_nowhere(store: Store) -> None:
    left, right, other = written_turn(store, chunks=3)
    buried = [BurialRecord(one.key, one.first_position, 0.0, "Dim.", TIME) for one in (left, right, other)]
    for window_id in ("w-1", "w-2"):
        store.put_window(msgspec.structs.replace(WINDOW, id=window_id), buried=buried)
    store.merge(left.key, right.key, "test")
    store.delete([left.key], "test")
    store.forget([left.key], "test")
    assert store.burials("w-1") == store.burials("w-2") == buried[2:]
    store.clear("test")
    assert store.burials("w-1") == store.burials("w-2") == []
    assert store.verify() == []


def test_a_deleted_window_takes_its_burials_along(store: Store) -> None:
    for window_id in ("w-1", "w-2"):
        store.put_window(msgspec.structs.replace(WINDOW, id=window_id), buried=[burial(1)])
    assert store.delete_window("w-1")
    assert (store.count_burials("w-1"), store.count_burials("w-2")) == (0, 1)


@pytest.mark.parametrize(
    "bad", [{"peak": float("nan")}, {"peak": float("inf")}, {"time": TIME.replace(tzinfo=None)}, {"reason": "\ud83d"}]
)
def test_what_is_no_burial_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="burial of chunk 1:0"):
        msgspec.structs.replace(burial(1), **bad)


def test_a_journal_is_read_in_the_order_in_which_it_was_written(open_again: StoreFactory) -> None:
    store = open_again()
    entries = [JournalEntry(turn, b"%d" % place) for place, turn in enumerate([7, PAST_64_BITS, 7, 5])]
    for turn, payload in entries:
        store.journal_append("w-1", turn, payload)
    store.journal_append("w-2", 7, b"\0\xff")
    assert store.journal("w-1") == entries
    store.close()
    assert open_again().journal("w-1") == entries


def test_a_journal_is_cleared_turn_by_turn(store: Store) -> None:
    for window in ("w-1", "w-2"):
        for turn in (3, PAST_64_BITS):
            store.journal_append(window, turn, b"said")
    store.journal_clear("w-1", PAST_64_BITS)
    store.journal_clear("w-1", 99)
    assert store.journal("w-1") == [JournalEntry(3, b"said")]
    assert len(store.journal("w-2")) == 2


def test_a_deleted_window_takes_its_journal_along(store: Store) -> None:
    store.put_window(WINDOW)
    for window in ("w-1", "w-2"):
        store.journal_append(window, 3, b"said")
    assert store.delete_window("w-1")
    assert store.journal("w-1") == []
    assert len(store.journal("w-2")) == 1


def test_windows_and_journals_are_no_change_of_chunks(store: Store) -> None:
    before = store.change_number()
    saved(store, WINDOW)
    store.journal_append("w-1", 3, b"said")
    assert store.change_number() == before
    assert store.verify() == []


def changed(store: Store, window: WindowRecord, payload: bytes) -> WindowRecord:
    window = msgspec.structs.replace(window, saved_at=window.saved_at + timedelta(minutes=1))
    return msgspec.structs.replace(window, version=store.put_window(window, timeline=payload))


def numbers(entries: list[TimelineEntry]) -> list[int]:
    return [entry.number for entry in entries]


def test_a_timeline_has_an_entry_for_each_save_that_told_of_a_change(open_again: StoreFactory) -> None:
    store = open_again()
    window = saved(store, changed(store, WINDOW, b"one"))
    window = changed(store, window, b"\0two\xff")
    store.put_window(msgspec.structs.replace(WINDOW, id="w-2"), timeline=b"another's")
    store.close()
    store = open_again()
    first = TimelineEntry(1, 0, TIME + timedelta(minutes=1), b"one")
    second = TimelineEntry(3, 1, TIME + timedelta(minutes=2), b"\0two\xff")
    assert store.timeline("w-1") == [second, first]
    assert store.timeline("w-1", limit=1) == store.timeline("w-1", after=1) == [second]
    assert store.timeline("w-1", before=3) == [first]
    assert store.timeline("nobody") == store.timeline("w-1", before=1) == store.timeline("w-1", after=3) == []
    assert store.verify() == []


def test_a_save_that_is_refused_leaves_nothing_in_the_timeline(store: Store) -> None:
    changed(store, WINDOW, b"one")
    with pytest.raises(StoreConflict, match="elsewhere"):
        changed(store, WINDOW, b"two")
    assert numbers(store.timeline("w-1")) == [1]


def test_a_timeline_keeps_as_many_of_the_newest_entries_as_fit(store: Store) -> None:
    window, other = changed(store, WINDOW, b"other"), msgspec.structs.replace(WINDOW, id="w-2")
    store.put_window(other, timeline=b"stays")
    part = b"x" * (TIMELINE_BYTES // 4)
    for _ in range(6):
        window = changed(store, window, part)
    assert numbers(store.timeline("w-1")) == [7, 6, 5, 4]
    window = changed(store, window, b"y" * (2 * TIMELINE_BYTES))
    assert numbers(store.timeline("w-1")) == [8]
    changed(store, window, part)
    assert numbers(store.timeline("w-1")) == [9]
    assert numbers(store.timeline("w-2")) == [1]


def test_a_timeline_goes_with_its_window_and_with_everything(store: Store) -> None:
    window = changed(store, WINDOW, b"one")
    store.put_window(msgspec.structs.replace(WINDOW, id="w-2"), timeline=b"stays")
    assert store.delete_window(window.id)
    assert store.timeline("w-1") == []
    assert numbers(store.timeline("w-2")) == [1]
    store.clear("test")
    assert store.timeline("w-2") == []
    assert store.verify() == []


def test_windows_keep_their_folder_and_their_place_without_being_saved(open_again: StoreFactory) -> None:
    store = open_again()
    for name in ("w-1", "w-2", "w-3"):
        store.put_window(msgspec.structs.replace(WINDOW, id=name))
    store.place_windows("trips", ["w-3", "w-1"])
    store.file_window("w-2", "trips")
    store.close()
    store = open_again()
    places = {one.id: (one.folder, one.place, one.version) for one in store.windows()}
    assert places == {"w-1": ("trips", 1, 1), "w-2": ("trips", None, 1), "w-3": ("trips", 0, 1)}
    store.place_windows("trips", ["w-2"])
    store.file_window("w-1", "")
    assert {one.id: (one.folder, one.place) for one in store.windows()} == {
        "w-1": ("", None),
        "w-2": ("trips", 0),
        "w-3": ("trips", None),
    }


def test_a_window_that_is_not_there_has_no_place_and_nothing_is_moved(store: Store) -> None:
    store.put_window(WINDOW)
    with pytest.raises(StoreConflict, match="no window w-2"):
        store.place_windows("trips", ["w-1", "w-2"])
    with pytest.raises(StoreConflict, match="no window w-2"):
        store.file_window("w-2", "trips")
    assert [(one.folder, one.place) for one in store.windows()] == [("", None)]


def test_the_place_of_a_deleted_window_goes_with_it(store: Store) -> None:
    store.put_window(WINDOW)
    store.file_window("w-1", "trips")
    store.delete_window("w-1")
    store.put_window(WINDOW)
    assert [one.folder for one in store.windows()] == [""]


def test_a_journal_entry_replaces_those_of_its_turn_alone(open_again: StoreFactory) -> None:
    store = open_again()
    for turn, payload in ((1, b"a"), (1, b"b"), (2, b"c")):
        store.journal_append("w-1", turn, payload)
    store.journal_replace("w-1", 1, b"d")
    store.journal_replace("w-1", 0, b"e")
    store.close()
    entries = [JournalEntry(2, b"c"), JournalEntry(1, b"d"), JournalEntry(0, b"e")]
    assert open_again().journal("w-1") == entries
    assert open_again().journal("w-2") == []


def own_turns(store: Store, *windows: str) -> dict[str, list[ChunkKey]]:
    """Write one turn of two chunks in each of these windows, in this order."""
    keys: dict[str, list[ChunkKey]] = {}
    for window in windows:
        reservation = store.reserve(10)
        start = reservation.position_start
        chunks = [
            made_up_chunk(reservation.turn_user, index, first=start + 5 * index, metadata={"window": window})
            for index in range(2)
        ]
        store.write_chunks(chunks)
        keys.setdefault(window, []).extend(chunk.key for chunk in chunks)
    return keys


def page_keys(page: ChunkPage) -> list[ChunkKey]:
    return [stored.chunk.key for stored in page.chunks]


def test_a_windows_own_chunks_are_read_page_by_page_in_both_directions(store: Store) -> None:
    keys = own_turns(store, "a", "b", "a", "a", "b")["a"]
    newest = store.chunks_of_window("a", limit=4, most_bytes=10_000)
    assert (page_keys(newest), newest.has_more) == (keys[2:], True)
    oldest = store.chunks_of_window("a", before=keys[2], limit=4, most_bytes=10_000)
    assert (page_keys(oldest), oldest.has_more) == (keys[:2], False)
    later = store.chunks_of_window("a", after=keys[0], limit=3, most_bytes=10_000)
    assert (page_keys(later), later.has_more) == (keys[1:4], True)
    last = store.chunks_of_window("a", after=keys[3], limit=2, most_bytes=10_000)
    assert (page_keys(last), last.has_more) == (keys[4:], False)
    assert store.chunks_of_window("nobody", limit=4, most_bytes=10_000) == ChunkPage([], has_more=False)


def test_a_page_of_a_window_is_bounded_by_bytes_but_never_empty(store: Store) -> None:
    keys = own_turns(store, "a", "a")["a"]
    page = store.chunks_of_window("a", limit=10, most_bytes=1)
    assert (page_keys(page), page.has_more) == (keys[-1:], True)


def test_a_windows_own_chunks_are_without_deleted_and_merged_ones(store: Store) -> None:
    keys = own_turns(store, "a", "a", "a")["a"]
    store.delete(keys[:2], "test")
    store.merge(keys[2], keys[3], "test")
    page = store.chunks_of_window("a", limit=10, most_bytes=10_000)
    assert page_keys(page) == [keys[2], *keys[4:]]
    store.undelete(keys[:1], "test")
    assert page_keys(store.chunks_of_window("a", before=keys[2], limit=10, most_bytes=10_000)) == keys[:1]


def test_chunks_whose_metadata_name_no_window_belong_to_none(store: Store) -> None:
    start = store.reserve(20)
    for index, metadata in enumerate([None, {}, {"window": 7}, {"window": ["a"]}]):
        first = start.position_start + 5 * index
        store.write_chunks([made_up_chunk(start.turn_user, index, first=first, metadata=metadata)])
    for window in ("a", "7", "", '["a"]'):
        assert store.chunks_of_window(window, limit=10, most_bytes=10_000).chunks == []
