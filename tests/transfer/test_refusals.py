"""An invalid file is refused with one sentence, and nothing is changed."""

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from halo_weave.memory.store.protocol import Store
from halo_weave.transfer import Imported, export_memory, import_file, reading
from support.transfer_memories import Row, all_chunks, assert_refused


def made_export(*rows: Row, digest: str | None = None, **header: Any) -> bytes:
    """Return a valid export of these chunks, except for what the arguments override."""
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
    "an entry about half of a chunk": made_export(row(), audit("delete") | {"role": None}),
    "an entry about no chunk": made_export(row(), audit("delete") | {"turn": None, "index": None, "role": None}),
    "a clearing of one chunk": made_export(row(), audit("clear")),
    "unknown action": made_export(row(), audit("burn")),
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
    assert "not an export of Halo Weave or" in assert_refused(untouched, path, BAD_FILES["text"])
    assert "it has 1 chunks (0 deleted, 0 merged, 2 tokens), but its header says 2" in assert_refused(
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
    monkeypatch.setattr("halo_weave.transfer.own.importing.LONGEST_LINE_BYTES", 1000)
    monkeypatch.setattr(reading.ImportSource.line, "__defaults__", (1000,))
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


@pytest.mark.parametrize("counter", ["next_turn", "next_position"])
def test_a_header_cannot_move_the_counters_far_beyond_what_the_file_names(
    store: Store, tmp_path: Path, counter: str
) -> None:
    path = tmp_path / "hostile.jsonl"
    assert_refused(store, path, made_export(**{counter: "9" * 10_000}))
    path.write_bytes(made_export(row(), **{counter: "9" * 1_000}))
    import_file(store, path)
    stats = store.stats()
    assert max(stats.next_turn, stats.next_position) < 2**65
    export_memory(store, tmp_path / "again.jsonl")
    assert import_file(store, tmp_path / "again.jsonl").present == 1


def test_a_memory_with_numbers_of_many_digits_is_exported_and_imported_like_any_other(
    store: Store, other: Store, tmp_path: Path
) -> None:
    huge = "8" * 1_000
    path, again = tmp_path / "huge.jsonl", tmp_path / "again.jsonl"
    path.write_bytes(made_export(row(turn=huge, position=huge), next_turn="9" * 1_000, next_position="9" * 1_000))
    assert import_file(store, path).added == 1
    store.reserve(100)
    export_memory(store, again)
    assert import_file(other, again).added == 1
    assert all_chunks(other) == all_chunks(store)
