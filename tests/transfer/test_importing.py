"""Importing into a memory that already has content adds what is new, or nothing."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from halo_weave.errors import InputError, StoreConflict
from halo_weave.memory.store.protocol import Store
from halo_weave.records.chunks import Chunk, Record
from halo_weave.transfer import Imported, Progress, export_memory, import_file
from support.made_up_chunks import made_up_chunk, written_texts, written_turn
from support.transfer_memories import all_chunks, assert_one_sentence, lived_in, state


def test_the_same_file_twice_adds_nothing(store: Store, tmp_path: Path) -> None:
    lived_in(store)
    export_memory(store, tmp_path / "memory.jsonl.gz")
    before = state(store)
    assert import_file(store, tmp_path / "memory.jsonl.gz") == Imported("halo-weave", added=0, present=5)
    assert state(store) == before


def test_a_later_export_adds_what_is_new(store: Store, other: Store, tmp_path: Path) -> None:
    lived_in(store)
    export_memory(store, tmp_path / "first.jsonl")
    import_file(other, tmp_path / "first.jsonl")
    written_turn(store, chunks=2)
    export_memory(store, tmp_path / "second.jsonl")
    assert import_file(other, tmp_path / "second.jsonl") == Imported("halo-weave", added=2, present=5)
    assert all_chunks(other) == all_chunks(store)


def test_the_log_comes_with_the_chunks_that_are_added(store: Store, other: Store, tmp_path: Path) -> None:
    first = written_turn(store)
    export_memory(store, tmp_path / "first.jsonl")
    import_file(other, tmp_path / "first.jsonl")
    second = written_turn(store)
    store.delete([first[0].key, second[0].key], "test")
    export_memory(store, tmp_path / "second.jsonl")
    import_file(other, tmp_path / "second.jsonl")
    assert [(entry.action, entry.key) for entry in other.audit()] == [("delete", second[0].key)]
    assert [chunk.deleted for chunk in all_chunks(other)] == [False, True]


def test_the_log_says_in_another_memory_too_what_was_forgotten_and_cleared(
    store: Store, other: Store, tmp_path: Path
) -> None:
    first, second = written_turn(store), written_turn(store)
    store.delete([first[0].key], "test")
    store.forget([first[0].key], "test")
    store.clear("test")
    store.restore(map(Record, second), [], next_turn=0, next_position=0)
    export_memory(store, tmp_path / "memory.jsonl")
    for added in (1, 0):
        assert import_file(other, tmp_path / "memory.jsonl").added == added
        assert all_chunks(other) == all_chunks(store)
        assert other.audit() == store.audit()


def test_what_was_forgotten_after_the_export_stays_so(store: Store, tmp_path: Path) -> None:
    kept, gone = written_turn(store), written_turn(store)
    export_memory(store, tmp_path / "memory.jsonl")
    store.delete([gone[0].key], "test")
    store.forget([gone[0].key], "test")
    before = state(store)
    import_file(store, tmp_path / "memory.jsonl")
    assert state(store) == before
    assert all_chunks(store) == kept


def test_what_was_merged_or_deleted_after_the_export_stays_so(store: Store, tmp_path: Path) -> None:
    first, second, third = written_turn(store, chunks=3)
    export_memory(store, tmp_path / "memory.jsonl")
    store.merge(first.key, second.key, "test")
    store.delete([third.key], "test")
    before = state(store)
    assert import_file(store, tmp_path / "memory.jsonl") == Imported("halo-weave", added=0, present=3)
    assert state(store) == before


def other_text(store: Store) -> None:
    written_texts(store, "something else that was said here")


def other_time(store: Store) -> None:
    reservation = store.reserve(5)
    made = made_up_chunk(reservation.turn_user, first=reservation.position_start)
    time = made.time + timedelta(seconds=1)
    store.write_chunks([Chunk.of_tokens(made.key, made.tokens(), first_position=0, time=time)])


def other_place(store: Store) -> None:
    store.advance(next_turn=3, next_position=100)
    store.write_chunks([made_up_chunk(1, first=50)])


def part_of_it(store: Store) -> None:
    store.advance(next_turn=3, next_position=100)
    store.write_chunks([made_up_chunk(1, first=0, count=3)])


@pytest.mark.parametrize("occupy", [other_text, other_time, other_place, part_of_it])
def test_a_file_that_contradicts_the_memory_is_refused(
    store: Store, other: Store, tmp_path: Path, occupy: Callable[[Store], None]
) -> None:
    written_turn(store, chunks=2)
    export_memory(store, tmp_path / "memory.jsonl")
    occupy(other)
    before = state(other)
    with pytest.raises(
        StoreConflict, match=r"chunk 1:0 \(user\) at position 0 differs from the chunk that the memory has"
    ) as caught:
        import_file(other, tmp_path / "memory.jsonl")
    assert_one_sentence(caught.value)
    assert state(other) == before


def test_a_file_that_cannot_be_read_is_named(store: Store, tmp_path: Path) -> None:
    for path in (tmp_path / "missing", tmp_path):
        with pytest.raises(InputError, match="cannot be read"):
            import_file(store, path)


def test_an_import_that_is_stopped_changes_nothing(store: Store, other: Store, tmp_path: Path) -> None:
    written_turn(store, chunks=300, count=1)
    export_memory(store, tmp_path / "memory.jsonl")

    def stop(progress: Progress) -> None:
        if progress.step == "writing" and progress.done:
            raise KeyboardInterrupt

    before = state(other)
    with pytest.raises(KeyboardInterrupt):
        import_file(other, tmp_path / "memory.jsonl", progress=stop)
    assert state(other) == before
    assert import_file(other, tmp_path / "memory.jsonl").added == 300
