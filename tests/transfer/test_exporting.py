"""An exported memory can be restored exactly."""

import hashlib
import json
import tracemalloc
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from halo_weave.errors import InputError, StoreUnavailable
from halo_weave.memory.store.protocol import Store
from halo_weave.records.chunks import ChunkKey, Stored
from halo_weave.transfer import Exported, Imported, Progress, export_memory, import_file
from support.made_up_chunks import made_up_chunk, written_turn
from support.transfer_memories import NOW, all_chunks, exported_lines, lived_in, memory, state

PAST_64_BITS = 2**64 + 12345678901234567890


@pytest.mark.parametrize("name", ["memory.jsonl", "memory.jsonl.gz"])
def test_an_export_comes_back_as_the_same_memory(store: Store, other: Store, tmp_path: Path, name: str) -> None:
    lived_in(store)
    exported = export_memory(store, tmp_path / name, now=NOW)
    assert exported == Exported(chunks=5, deleted_chunks=1, tokens=34, bytes=(tmp_path / name).stat().st_size)
    assert import_file(other, tmp_path / name) == Imported("halo-weave", added=5, present=0)
    assert all_chunks(other) == all_chunks(store)
    assert other.audit() == store.audit()
    assert other.stats().merged_chunks == 1
    assert (other.stats().next_turn, other.stats().next_position) == (store.stats().next_turn, 529)
    export_memory(other, tmp_path / f"again-{name}", now=NOW)
    assert (tmp_path / f"again-{name}").read_bytes() == (tmp_path / name).read_bytes()
    assert other.verify() == []


def test_equal_memories_differ_only_in_the_time_of_the_header(store: Store, tmp_path: Path) -> None:
    lived_in(store)
    lines = exported_lines(store, tmp_path / "first.jsonl")
    export_memory(store, tmp_path / "second.jsonl", now=NOW + timedelta(days=1))
    later = (tmp_path / "second.jsonl").read_bytes().splitlines(keepends=True)
    assert later[1:] == lines[1:]
    assert json.loads(later[0]) == {**json.loads(lines[0]), "time": "2026-06-02T08:00:00Z"}


def test_the_lines_are_as_documented(store: Store, tmp_path: Path) -> None:
    store.advance(next_turn=PAST_64_BITS, next_position=PAST_64_BITS)
    reservation = store.reserve(2)
    store.write_chunks([made_up_chunk(reservation.turn_user, first=reservation.position_start, count=2)])
    store.delete([ChunkKey(reservation.turn_user, 0, "user")], "test")
    header, chunk, audit, end = (json.loads(line) for line in exported_lines(store, tmp_path / "memory.jsonl"))
    made = all_chunks(store)[0]
    assert header == {
        "format": "halo-weave-export",
        "version": 1,
        "program": header["program"],
        "time": "2026-06-01T08:00:00Z",
        "chunks": 1,
        "deleted_chunks": 1,
        "merged_chunks": 0,
        "tokens": 2,
        "next_turn": str(PAST_64_BITS + 2),
        "next_position": str(PAST_64_BITS + 2),
    }
    assert chunk == {
        "kind": "chunk",
        "turn": str(PAST_64_BITS),
        "index": 0,
        "role": "user",
        "position": str(PAST_64_BITS),
        "time": made.time.isoformat().replace("+00:00", "Z"),
        "text": made.text,
        "token_ids": made.token_ids.tolist(),
        "piece_lengths": [len(token.text) for token in made.tokens()],
        "deleted": True,
        "deleted_at": "2026-05-17T12:30:15.123457Z",
    }
    assert audit == {
        "kind": "audit",
        "time": "2026-05-17T12:30:15.123457Z",
        "origin": "test",
        "action": "delete",
        "turn": str(PAST_64_BITS),
        "index": 0,
        "role": "user",
    }
    lines = (tmp_path / "memory.jsonl").read_bytes().splitlines(keepends=True)[1:-1]
    assert end == {"kind": "end", "sha256": hashlib.sha256(b"".join(lines)).hexdigest()}


def test_an_empty_memory_can_be_exported_and_its_numbers_come_back(store: Store, other: Store, tmp_path: Path) -> None:
    store.reserve(10)
    export_memory(store, tmp_path / "empty.jsonl")
    assert import_file(other, tmp_path / "empty.jsonl") == Imported("halo-weave", added=0, present=0)
    assert (other.stats().next_turn, other.stats().next_position) == (3, 10)


sizes = st.lists(st.integers(1, 6), min_size=1, max_size=4)

metadata = st.none() | st.dictionaries(
    st.text(max_size=3), st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3), max_size=2
)

turns = st.lists(st.tuples(sizes, st.integers(0, 9), metadata), max_size=5)

changes = st.lists(
    st.tuples(st.sampled_from(["delete", "undelete", "merge", "forget"]), st.integers(0, 30)), max_size=8
)

starts = st.sampled_from([0, 2**63 - 4, 2**64 - 4, PAST_64_BITS, 2**2040])


def live(store: Store, start: int, turns: list[Any], changes: list[tuple[str, int]]) -> None:
    store.advance(next_turn=start, next_position=start)
    chunks = []
    for sizes, gap, metadata in turns:
        reservation = store.reserve(gap + sum(sizes))
        first = reservation.position_start + gap
        for index, size in enumerate(sizes):
            chunks.append(made_up_chunk(reservation.turn_user, index, first=first, count=size, metadata=metadata))
            first += size
    store.write_chunks(chunks)
    for action, number in changes:
        change(store, action, number)


def change(store: Store, action: str, number: int) -> None:
    keys = [chunk.key for chunk in all_chunks(store)]
    if not keys:
        return
    place = number % len(keys)
    if action == "delete":
        store.delete([keys[place]], "test")
    elif action == "undelete":
        store.undelete([keys[place]], "test")
    elif action == "forget":
        store.forget_all_deleted("test")
    else:
        try:
            store.merge(keys[place - 1], keys[place], "test")
        except InputError:
            return


@given(start=starts, turns=turns, changes=changes)
@settings(max_examples=16, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_export_and_import_are_inverse(start: int, turns: list[Any], changes: list[tuple[str, int]]) -> None:
    with TemporaryDirectory() as name, memory(Path(name, "a.db")) as store, memory(Path(name, "b.db")) as other:
        live(store, start, turns, changes)
        assume(store.stats().chunks or start < 2**64)  # counters far beyond a file's numbers are not imported
        export_memory(store, Path(name, "one.jsonl"), now=NOW)
        imported = import_file(other, Path(name, "one.jsonl"))
        export_memory(other, Path(name, "two.jsonl"), now=NOW)
        assert Path(name, "two.jsonl").read_bytes() == Path(name, "one.jsonl").read_bytes()
        before = state(other)
        assert import_file(other, Path(name, "two.jsonl")) == Imported("halo-weave", 0, present=imported.added)
        assert state(other) == before


def test_an_existing_file_is_overwritten_only_when_asked(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "memory.jsonl"
    path.write_bytes(b"precious")
    with pytest.raises(InputError, match=r"already.*--overwrite"):
        export_memory(store, path)
    assert path.read_bytes() == b"precious"
    export_memory(store, path, overwrite=True)
    assert path.read_bytes().startswith(b'{"format":"halo-weave-export"')


def test_a_file_that_appears_during_the_export_is_kept(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "memory.jsonl"

    def make_it(_: Progress) -> None:
        path.write_bytes(b"precious")

    with pytest.raises(InputError, match="already"):
        export_memory(store, path, progress=make_it)
    assert [entry.name for entry in tmp_path.iterdir() if entry.is_file()] == [path.name]
    assert path.read_bytes() == b"precious"


def test_an_export_that_fails_leaves_nothing_behind(store: Store, tmp_path: Path) -> None:
    def stop(_: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export_memory(store, tmp_path / "memory.jsonl", progress=stop)
    assert [entry for entry in tmp_path.iterdir() if entry.is_file()] == []
    with pytest.raises(StoreUnavailable, match="Cannot write the export"):
        export_memory(store, tmp_path / "no folder" / "memory.jsonl")


def test_an_export_is_of_one_moment(store: Store, tmp_path: Path) -> None:
    left, right = written_turn(store, chunks=2)
    merged: list[Stored] = []

    def merge_meanwhile(_: Progress) -> None:
        if not merged:
            merged.append(store.merge(left.key, right.key, "test"))

    def write_meanwhile(_: Progress) -> None:
        written_turn(store)

    export_memory(store, tmp_path / "memory.jsonl", progress=merge_meanwhile)
    assert len((tmp_path / "memory.jsonl").read_bytes().splitlines()) == 5
    with pytest.raises(StoreUnavailable, match="not in use"):
        export_memory(store, tmp_path / "never.jsonl", progress=write_meanwhile)
    assert not (tmp_path / "never.jsonl").exists()


def test_progress_goes_from_nothing_to_all(store: Store, other: Store, tmp_path: Path) -> None:
    written_turn(store, chunks=600, count=1)
    told: list[Progress] = []
    export_memory(store, tmp_path / "memory.jsonl", progress=told.append)
    assert told == [Progress("writing", done, 600) for done in (0, 256, 512, 600)]
    told.clear()
    import_file(other, tmp_path / "memory.jsonl", progress=told.append)
    steps = [Progress("reading", done, 600) for done in (0, 256, 512, 600)]
    assert told == steps + [step._replace(step="writing") for step in steps]


def test_an_export_takes_no_more_ram_for_a_larger_memory(store: Store, tmp_path: Path) -> None:
    def peak_bytes(name: str) -> int:
        tracemalloc.start()
        try:
            export_memory(store, tmp_path / name)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    written_turn(store, chunks=512, count=8)
    small = peak_bytes("small.jsonl")
    for _ in range(3):
        written_turn(store, chunks=512, count=8)
    assert peak_bytes("large.jsonl") < 1.2 * small
