"""What every store does with windows and their journals."""

import threading
from typing import Any

import msgspec
import pytest

from halo_weave.errors import InputError, StoreConflict
from halo_weave.memory.store import Store
from halo_weave.memory.window_records import JournalEntry, WindowOutline, WindowRecord
from made_up_chunks import TIME
from store_factories import StoreFactory

WINDOW = WindowRecord("w-1", "Größe", b"\0state\xff", 0, TIME)
PAST_64_BITS = 2**64 + 7


def saved(store: Store, window: WindowRecord, durable: bool = True) -> WindowRecord:
    return msgspec.structs.replace(window, version=store.put_window(window, durable=durable))


@pytest.mark.parametrize("durable", [True, False])
def test_a_window_comes_back_as_it_was_saved(open_again: StoreFactory, durable: bool) -> None:
    store = open_again()
    first = saved(store, WINDOW, durable)
    assert (first.version, store.window("w-1")) == (1, first)
    second = saved(store, msgspec.structs.replace(first, name="", state=b""), durable)
    store.close()
    assert open_again().window("w-1") == second
    assert second.version == 2


def test_a_window_that_is_not_there_is_none(store: Store) -> None:
    assert store.window("nobody") is None
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
        with pytest.raises(StoreConflict, match=r"Window w-1 was saved or deleted by somebody else .*nothing was writ"):
            store.put_window(old)
    assert store.window("w-1") == newer
    assert other.delete_window("w-1")
    with pytest.raises(StoreConflict, match="somebody else"):
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
