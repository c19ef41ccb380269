"""The memory leaves in a file and comes back from it as it was, or not at all."""

import gzip
import hashlib
import itertools
import json
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from halo_weave.errors import HaloError, InputError, StoreConflict, StoreUnavailable
from halo_weave.memory.records import Chunk, ChunkKey, Stored
from halo_weave.memory.sqlite_store import SqliteStore
from halo_weave.memory.store import FIRST_POSITION, FIRST_TURN, Store
from halo_weave.transfer import Exported, Imported, Progress, export_memory, import_file, reading
from made_up_chunks import TIME, made_up_chunk, written_texts, written_turn

NOW = datetime(2026, 6, 1, 8, 0, tzinfo=UTC)
PAST_64_BITS = 2**64 + 12345678901234567890
BROWSER_FILE = Path(__file__).parents[2] / "shared" / "data" / "halo-weave-export.json.gz"

Row = dict[str, Any]


@contextmanager
def memory(path: Path) -> Iterator[SqliteStore]:
    seconds = itertools.count()
    store = SqliteStore(path, clock=lambda: TIME + timedelta(seconds=next(seconds), microseconds=1))
    try:
        yield store
    finally:
        store.close()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with memory(tmp_path / "memory" / "halo.db") as opened:
        yield opened


@pytest.fixture
def other(tmp_path: Path) -> Iterator[SqliteStore]:
    with memory(tmp_path / "other" / "halo.db") as opened:
        yield opened


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteStore]:
    """An empty memory for tests in which nothing may change: making one for each would take most of the time."""
    with memory(tmp_path_factory.mktemp("untouched") / "halo.db") as opened:
        yield opened
        assert state(opened) == ([], FIRST_TURN, FIRST_POSITION, 0, [])


def all_chunks(store: Store) -> list[Chunk]:
    return [stored.chunk for stored in store.chunks_from(0, 100_000)]


def state(store: Store) -> object:
    stats = store.stats()
    return all_chunks(store), stats.next_turn, stats.next_position, stats.change_number, store.audit()


def exported_lines(store: Store, path: Path) -> list[bytes]:
    export_memory(store, path, now=NOW)
    return path.read_bytes().splitlines(keepends=True)


def lived_in(store: Store) -> None:
    """Some of everything: several turns, metadata, a gap, a merge, a deletion, a deletion taken back."""
    first, second = written_turn(store, chunks=3), written_turn(store, chunks=2, count=7)
    reservation = store.reserve(500)
    store.write_chunks(
        [
            made_up_chunk(
                reservation.turn_assistant,
                role="assistant",
                first=reservation.position_start + 100,
                metadata={"tags": ["a", "ü"], "window": None, "weight": 0.25, "big": 2**60},
            )
        ]
    )
    store.merge(first[0].key, first[1].key, "test")
    store.delete([second[0].key, second[1].key], "test")
    store.undelete([second[1].key], "test")


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
changes = st.lists(st.tuples(st.sampled_from(["delete", "undelete", "merge"]), st.integers(0, 30)), max_size=8)
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
    with pytest.raises(InputError, match="already"):
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
    with pytest.raises(StoreUnavailable, match="cannot be written"):
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
    with pytest.raises(StoreUnavailable, match="at rest"):
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
    with pytest.raises(StoreConflict, match=r"chunk 1:0 \(user\) at position 0 is not what the memory has") as caught:
        import_file(other, tmp_path / "memory.jsonl")
    assert_one_sentence(caught.value)
    assert state(other) == before


def assert_one_sentence(error: HaloError) -> None:
    assert str(error).endswith("nothing was changed.")
    assert "\n" not in str(error)
    assert len(str(error)) < 600


def made_export(*rows: Row, digest: str | None = None, **header: Any) -> bytes:
    """An export of these chunks that is sound in itself, but for what is said otherwise."""
    lines = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    whole = {
        "format": "halo-weave-export",
        "version": 1,
        "program": "0",
        "time": "2026-01-01T00:00:00Z",
        "chunks": sum(row.get("kind") != "audit" for row in rows),
        "deleted_chunks": sum(bool(row.get("deleted")) for row in rows),
        "merged_chunks": 0,
        "tokens": sum(len(row.get("token_ids", ())) for row in rows),
        "next_turn": "1000",
        "next_position": "1000",
    }
    end = {"kind": "end", "sha256": digest or hashlib.sha256(lines).hexdigest()}
    return b"%s\n%s%s\n" % (json.dumps(whole | header).encode(), lines, json.dumps(end).encode())


def row(**changed: Any) -> Row:
    return {
        "kind": "chunk",
        "turn": "1",
        "index": 0,
        "role": "user",
        "position": "5",
        "time": "2026-01-01T00:00:00Z",
        "text": "hello",
        "token_ids": [1, 2],
        "piece_lengths": [2, 3],
    } | changed


def audit(action: str) -> Row:
    time = "2026-01-01T00:00:00Z"
    return {"kind": "audit", "time": time, "origin": "a", "action": action, "turn": "1", "index": 0, "role": "user"}


def without(name: str) -> Row:
    return {key: value for key, value in row().items() if key != name}


def nested(levels: int) -> bytes:
    metadata: dict[str, Any] = {"a": 1}
    for _ in range(levels - 1):
        metadata = {"a": metadata}
    return made_export(row(metadata=metadata))


def nested_beyond_reading() -> bytes:
    return made_export(row(metadata={"a": "NEST"})).replace(b'"NEST"', b"[" * 100_000 + b"]" * 100_000)


SOUND = made_export(row(), row(index=1, position="7"))
BAD_ROWS: dict[str, Row] = {
    "position as a number": row(position=5),
    "position with a sign": row(position="+5"),
    "position with a leading zero": row(position="05"),
    "position below 0": row(position="-5"),
    "position with a point": row(position="5.0"),
    "position in other digits": row(position="٥"),
    "position in too many digits": row(position="1" * 10_001),
    "turn as a number": row(turn=1),
    "turn that was not given out": row(turn="1000"),
    "position that was not given out": row(position="999"),
    "index as text": row(index="0"),
    "index below 0": row(index=-1),
    "index too large": row(index=2**63),
    "index far too large": row(index=10**4000),
    "unknown role": row(role="tool"),
    "no text": without("text"),
    "text of another type": row(text=None),
    "half of a character": row(text="\ud800abcd"),
    "pieces of another length": row(piece_lengths=[2, 4]),
    "pieces of another number": row(piece_lengths=[5]),
    "no tokens": row(token_ids=[], piece_lengths=[], text=""),
    "token id below 0": row(token_ids=[1, -2]),
    "token id too large": row(token_ids=[1, 2**31]),
    "token id as a float": row(token_ids=[1, 2.0]),
    "token id as truth": row(token_ids=[1, True]),
    "deleted as a number": row(deleted=1),
    "time without a zone": row(time="2026-01-01T00:00:00"),
    "time that is none": row(time="yesterday"),
    "time out of range": row(time="0001-01-01T00:00:00+01:00"),
    "merged into nothing": row(merged_into=5),
    "merged into itself": row(merged_into=0),
    "merged into text": row(merged_into="0"),
    "time of deletion without a zone": row(deleted=True, deleted_at="2026-01-01T00:00:00"),
    "metadata as a list": row(metadata=[1]),
    "metadata not a number": row(metadata={"a": float("nan")}),
    "metadata beyond numbers": row(metadata={"a": float("inf")}),
    "unknown kind of line": row(kind="dream"),
    "no kind of line": without("kind"),
    "unknown field": row(colour="red"),
}
BAD_FILES: dict[str, bytes] = {
    "nothing": b"",
    "blank": b" \n \n",
    "text": b"Dear diary,\nhello\n",
    "zeros": bytes(1000),
    "not UTF-8": SOUND.replace(b"hello", b"hel\xffo"),
    "other JSON": b'{"a": 1}',
    "a JSON list": b"[1, 2]",
    "deep nesting alone": b"[" * 100_000,
    "deep nesting in an object": b'{"tokens": ' + b"[" * 100_000,
    "deep nesting in metadata": nested_beyond_reading(),
    "nesting in metadata that others could not read": nested(65),
    "unknown newer version": made_export(row(), version=2),
    "version 0": made_export(row(), version=0),
    "version as text": made_export(row(), version="1"),
    "header without counts": b'{"format": "halo-weave-export", "version": 1}\n',
    "chunks below 0": made_export(chunks=-1),
    "fewer chunks than said": made_export(row(), chunks=2),
    "more chunks than said": made_export(row(), row(index=1, position="7"), chunks=1),
    "other count of deleted chunks": made_export(row(), deleted_chunks=1),
    "other count of tokens": made_export(row(), tokens=1),
    "next turn as a number": made_export(row(), next_turn=1000),
    "next position in a wrong form": made_export(row(), next_position="1e3"),
    "merged into one elsewhere": made_export(
        row(), row(index=1, position="7", merged_into=0), chunks=1, merged_chunks=1, tokens=2
    ),
    "unknown action": made_export(row(), audit("forget")),
    "wrong checksum": made_export(row(), digest="0" * 64),
    "changed chunk": SOUND.replace(b"hello", b"jello"),
    "one key twice": made_export(row(), row(position="7")),
    "overlapping positions": made_export(row(), row(index=1, position="6")),
    "out of order": made_export(row(index=1, position="7"), row()),
    "something behind the end": SOUND + b"x",
    "empty line between": SOUND.replace(b"\n", b"\n\n", 1),
    "no end": SOUND[: SOUND.rindex(b"\n", 0, -1) + 1],
    "no last line end": SOUND[:-1],
    "damaged gzip": gzip.compress(SOUND)[:20] + b"damage" + gzip.compress(SOUND)[26:],
    "cut off gzip": gzip.compress(SOUND)[:-9],
    "gzip of nothing": gzip.compress(b""),
    "only the magic of gzip": b"\x1f\x8b",
} | {name: made_export(bad) for name, bad in BAD_ROWS.items()}
for name in ("merged into nothing", "merged into itself"):
    BAD_FILES[name] = made_export(BAD_ROWS[name], chunks=0, merged_chunks=1, tokens=0)


def assert_refused(store: Store, path: Path, content: bytes) -> str:
    path.write_bytes(content)
    before = state(store)
    with pytest.raises(InputError) as caught:
        import_file(store, path)
    assert_one_sentence(caught.value)
    assert state(store) == before
    return str(caught.value)


def test_what_the_bad_files_are_made_of_is_good(store: Store, tmp_path: Path) -> None:
    (tmp_path / "sound").write_bytes(SOUND)
    assert import_file(store, tmp_path / "sound") == Imported("halo-weave", added=2, present=0)
    assert [chunk.text for chunk in all_chunks(store)] == ["hello", "hello"]


def test_metadata_may_be_nested(store: Store, tmp_path: Path) -> None:
    (tmp_path / "nested").write_bytes(nested(64))
    assert import_file(store, tmp_path / "nested").added == 1


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_file_is_refused_in_one_sentence(untouched: Store, tmp_path: Path, name: str) -> None:
    assert_refused(untouched, tmp_path / "bad", BAD_FILES[name])


def test_refusals_say_where_and_what(untouched: Store, tmp_path: Path) -> None:
    path = tmp_path / "bad"
    assert "update Halo Weave" in assert_refused(untouched, path, BAD_FILES["unknown newer version"])
    assert "in line 2, '05' is not a whole number" in assert_refused(
        untouched, path, BAD_FILES["position with a leading zero"]
    )
    assert "neither an export of Halo Weave nor" in assert_refused(untouched, path, BAD_FILES["text"])
    assert "it has 1 chunks (0 deleted, 0 merged, 2 tokens), but its header says that there are 2" in assert_refused(
        untouched, path, BAD_FILES["fewer chunks than said"]
    )
    for content in (nested(65), nested_beyond_reading()):
        assert "nested too deeply" in assert_refused(untouched, path, content)


def test_a_file_that_is_cut_off_anywhere_is_refused(untouched: Store, tmp_path: Path) -> None:
    for length in range(0, len(SOUND), 7):
        assert_refused(untouched, tmp_path / "bad", SOUND[:length])
    compressed = gzip.compress(SOUND)
    for length in range(0, len(compressed), 7):
        assert_refused(untouched, tmp_path / "bad", compressed[:length])


def test_any_changed_byte_behind_the_header_is_noticed(untouched: Store, tmp_path: Path) -> None:
    for place in range(SOUND.index(b"\n"), len(SOUND), 3):
        changed = bytes((SOUND[place] ^ 1,))
        assert_refused(untouched, tmp_path / "bad", SOUND[:place] + changed + SOUND[place + 1 :])


def test_a_line_that_is_too_long_is_refused(untouched: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("halo_weave.transfer.own_import.LONGEST_LINE_BYTES", 1000)
    monkeypatch.setattr(reading.Source.line, "__defaults__", (1000,))
    refused = assert_refused(untouched, tmp_path / "bad", made_export(row(text="a" * 2000, piece_lengths=[0, 2000])))
    assert "line 2 is longer than" in refused


@pytest.mark.parametrize("beginning", [SOUND.splitlines(keepends=True)[0], b'{"tokens": ['])
def test_a_bomb_is_refused_before_it_has_unpacked(untouched: Store, tmp_path: Path, beginning: bytes) -> None:
    bomb = gzip.compress(beginning + b" " * 30_000_000)
    assert "times its size" in assert_refused(untouched, tmp_path / "bomb", bomb)


def test_a_document_that_does_not_fit_into_ram_is_refused(
    untouched: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("halo_weave.transfer.importing.LARGEST_DOCUMENT_BYTES", 1_000_000)
    assert "in one piece" in assert_refused(untouched, tmp_path / "large", b'{"tokens": [' + b" " * 3_000_000)


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


def browser_tokens() -> list[Row]:
    """A system prompt, a question of two sentences, of which one was pruned, an answer, another question."""
    said = [
        (0, "system", 0, ["", "system", "\n", "Be kind."]),
        (1, "user", 0, ["Where", " do", " owls", " live?"]),
        (1, "user", 1, [" Tell", " me."]),
        (2, "assistant", 0, ["In", " hollow", " trees", ".\n"]),
        (2, "assistant", 1, ["And", " barns", "."]),
        (3, "user", 0, ["Thanks", "!"]),
    ]
    positions = itertools.count()
    return [
        {
            "token_id": 100 + place,
            "text": text,
            "position": next(positions),
            "brightness": 255 - place,
            "turn_id": turn,
            "role": role,
            "sentence_id": sentence,
            "deleted": (turn, sentence) == (1, 1),
        }
        | ({"brightness_at_deletion": -3} if (turn, sentence) == (1, 1) else {})
        for turn, role, sentence, texts in said
        for place, text in enumerate(texts)
    ]


def browser_export(tokens: list[Row], indent: int | None = None) -> bytes:
    stats = {"totalTokens": len(tokens), "turns": 4, "avgBrightness": 200.5}
    return json.dumps({"tokens": tokens, "stats": stats, "sentences": []}, indent=indent).encode()


def places(store: Store) -> list[tuple[str, int, str]]:
    return [(str(chunk.key), chunk.first_position, chunk.text) for chunk in all_chunks(store)]


@pytest.mark.parametrize(
    "content",
    [
        browser_export(browser_tokens()),
        browser_export(browser_tokens(), indent=2),
        gzip.compress(browser_export(browser_tokens())),
        browser_export(browser_tokens()[::-1]),
    ],
    ids=["plain", "indented", "gzip", "out of order"],
)
def test_a_browser_export_keeps_its_numbers_in_an_empty_memory(store: Store, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "any name"
    path.write_bytes(content)
    imported = import_file(store, path)
    assert imported == Imported("browser", added=5, present=0, left_out_tokens=4, is_renumbered=False)
    assert places(store) == [
        ("1:0 (user)", 4, "Where do owls live?"),
        ("1:1 (user)", 8, " Tell me."),
        ("2:0 (assistant)", 10, "In hollow trees.\n"),
        ("2:1 (assistant)", 14, "And barns."),
        ("3:0 (user)", 17, "Thanks!"),
    ]
    assert not any(chunk.deleted for chunk in all_chunks(store))
    assert all_chunks(store)[0].token_ids.tolist() == [100, 101, 102, 103]
    assert store.search_words(["kind"], 5) == []
    assert store.reserve(1).position_start >= 19
    assert store.verify() == []


def test_a_browser_export_gets_new_numbers_where_its_own_are_taken(store: Store, tmp_path: Path) -> None:
    mine = written_turn(store, count=30)
    (tmp_path / "browser.json").write_bytes(browser_export(browser_tokens()))
    imported = import_file(store, tmp_path / "browser.json")
    assert imported == Imported("browser", added=5, present=0, left_out_tokens=4, is_renumbered=True)
    assert all_chunks(store)[:1] == mine
    assert places(store)[1:] == [
        ("3:0 (user)", 30, "Where do owls live?"),
        ("3:1 (user)", 34, " Tell me."),
        ("4:0 (assistant)", 36, "In hollow trees.\n"),
        ("4:1 (assistant)", 40, "And barns."),
        ("5:0 (user)", 43, "Thanks!"),
    ]
    assert store.verify() == []


def test_an_answer_without_its_question_gets_a_pair_of_its_own(store: Store, tmp_path: Path) -> None:
    written_turn(store)
    tokens = [token for token in browser_tokens() if token["turn_id"] >= 2]
    (tmp_path / "browser.json").write_bytes(browser_export(tokens))
    import_file(store, tmp_path / "browser.json")
    assert [place[0] for place in places(store)[1:]] == ["4:0 (assistant)", "4:1 (assistant)", "5:0 (user)"]


@pytest.mark.parametrize("is_empty", [True, False])
def test_the_same_browser_conversation_twice_adds_nothing(store: Store, tmp_path: Path, is_empty: bool) -> None:
    if not is_empty:
        written_turn(store, count=30)
    (tmp_path / "browser.json").write_bytes(browser_export(browser_tokens()))
    import_file(store, tmp_path / "browser.json")
    store.delete([all_chunks(store)[-1].key], "test")
    before = state(store)
    later = [token | {"brightness": 9, "deleted": not token["deleted"]} for token in browser_tokens()]
    (tmp_path / "later.json.gz").write_bytes(gzip.compress(browser_export(later, indent=1)))
    for name in ("browser.json", "later.json.gz"):
        assert import_file(store, tmp_path / name) == Imported("browser", added=0, present=5, left_out_tokens=4)
    assert state(store) == before


def test_a_browser_conversation_is_known_again_after_a_journey(store: Store, other: Store, tmp_path: Path) -> None:
    (tmp_path / "browser.json").write_bytes(browser_export(browser_tokens()))
    import_file(store, tmp_path / "browser.json")
    export_memory(store, tmp_path / "memory.jsonl")
    import_file(other, tmp_path / "memory.jsonl")
    assert import_file(other, tmp_path / "browser.json").added == 0


def test_a_sentence_with_a_gap_becomes_two_chunks(store: Store, tmp_path: Path) -> None:
    tokens = [token for token in browser_tokens() if token["position"] != 6]
    (tmp_path / "browser.json").write_bytes(browser_export(tokens))
    import_file(store, tmp_path / "browser.json")
    assert places(store)[:3] == [
        ("1:0 (user)", 4, "Where do"),
        ("1:1 (user)", 7, " live?"),
        ("1:2 (user)", 8, " Tell me."),
    ]


def test_browser_chunks_have_the_time_of_the_file_but_never_one_to_come(store: Store, tmp_path: Path) -> None:
    (tmp_path / "browser.json").write_bytes(browser_export(browser_tokens()))
    import_file(store, tmp_path / "browser.json", now=NOW - timedelta(days=10_000))
    assert {chunk.time for chunk in all_chunks(store)} == {NOW - timedelta(days=10_000)}


def test_a_browser_export_past_64_bits_keeps_its_order(store: Store, tmp_path: Path) -> None:
    tokens = [
        token | {"position": token["position"] + PAST_64_BITS, "turn_id": token["turn_id"] + PAST_64_BITS}
        for token in browser_tokens()
    ]
    (tmp_path / "browser.json").write_bytes(browser_export(tokens))
    assert import_file(store, tmp_path / "browser.json").is_renumbered
    assert "".join(chunk.text for chunk in all_chunks(store)).endswith("And barns.Thanks!")


def test_a_browser_export_of_a_system_prompt_alone_adds_nothing(store: Store, tmp_path: Path) -> None:
    (tmp_path / "browser.json").write_bytes(browser_export(browser_tokens()[:4]))
    before = state(store)
    assert import_file(store, tmp_path / "browser.json") == Imported("browser", 0, 0, left_out_tokens=4)
    assert state(store) == before


def spoiled(**changed: Any) -> bytes:
    tokens = browser_tokens()
    tokens[-1] |= changed
    return browser_export(tokens)


@pytest.mark.parametrize(
    "content",
    [
        spoiled(position=3),
        spoiled(position="18"),
        spoiled(position=-1),
        spoiled(position=18.0),
        spoiled(position=float("nan")),
        spoiled(turn_id=None),
        spoiled(turn_id=-3),
        spoiled(sentence_id=-1),
        spoiled(role="tool"),
        spoiled(token_id=-1),
        spoiled(token_id=2**31),
        spoiled(text=5),
        spoiled(text="\ud83e"),
        spoiled(position=0) + b"more",
        browser_export(browser_tokens())[:-20],
        b'{"tokens": {}}',
        b'{"tokens": [[]]}',
        b'{"tokens": [1]}',
    ],
)
def test_a_bad_browser_export_is_refused_in_one_sentence(untouched: Store, tmp_path: Path, content: bytes) -> None:
    assert_refused(untouched, tmp_path / "bad", content)


@pytest.mark.skipif(not BROWSER_FILE.exists(), reason="the browser's export is not beside the checkout")
def test_a_real_browser_export_comes_in_whole(store: Store, other: Store, tmp_path: Path) -> None:
    tokens = [token for token in json.loads(gzip.decompress(BROWSER_FILE.read_bytes()))["tokens"] if token["turn_id"]]
    imported = import_file(store, BROWSER_FILE)
    assert (imported.added, imported.left_out_tokens, imported.is_renumbered) == (212, 12, False)
    placed = store.tokens_by_positions(range(5000))
    assert [(one.position, one.token_id, one.text, one.key.turn, one.key.role) for one in placed] == [
        (token["position"], token["token_id"], token["text"], token["turn_id"], token["role"]) for token in tokens
    ]
    assert import_file(store, BROWSER_FILE).added == 0
    export_memory(store, tmp_path / "memory.jsonl.gz")
    import_file(other, tmp_path / "memory.jsonl.gz")
    assert all_chunks(other) == all_chunks(store)
    assert store.verify() == []
