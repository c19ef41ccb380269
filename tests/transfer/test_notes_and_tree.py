"""Notes and memory tree are part of an export; conflicting local versions stay, and the import says so."""

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halo_weave.errors import StoreConflict
from halo_weave.memory.store.protocol import Store
from halo_weave.records.chunks import Chunk
from halo_weave.records.notes import NotesRecord
from halo_weave.records.tree import SnapshotChunk
from halo_weave.transfer import Imported, export_memory, import_file
from support.made_up_chunks import TIME, text_chunk, written_turn
from support.transfer_memories import NOW, Row, assert_one_sentence, assert_refused, memory
from transfer.test_refusals import made_export, row

Import = Callable[[Store, Store], Imported]


@pytest.fixture
def carry(tmp_path: Path) -> Import:
    def carry(source: Store, target: Store) -> Imported:
        export_memory(source, tmp_path / "export.jsonl", now=NOW, overwrite=True)
        return import_file(target, tmp_path / "export.jsonl")

    return carry


def save(store: Store, path: str, content: str = "1", *chunks: Chunk, hours: int = 0) -> None:
    snapshot = [SnapshotChunk(chunk, 0.5 + place / 7) for place, chunk in enumerate(chunks)]
    store.put_tree_entry(path, content, snapshot, time=TIME + timedelta(hours=hours), origin="test")


def note(store: Store, document: str, *, hours: int = 0) -> None:
    version = store.notes().version
    time = TIME + timedelta(hours=hours)
    store.put_notes(document, expected_version=version, origin="test", command="replace", time=time)


def delete(store: Store, path: str) -> None:
    store.delete_tree_entries(path, recursive=True, time=TIME, origin="test")


def kept(store: Store) -> tuple[list[NotesRecord], list[tuple[object, list[tuple[Chunk, float]]]]]:
    versions = [store.notes_version(number) for number in range(1, store.notes().version + 1)]
    return [one for one in versions if one is not None], [
        (one.version, [(chunk.chunk, chunk.similarity) for chunk in one.snapshot])
        for one in store.tree_versions_from("", 0, 1000)
    ]


def lived_in(store: Store) -> list[Chunk]:
    chunks = written_turn(store, chunks=3)
    save(store, "a/b", '{"größe": null}', *chunks)
    save(store, "a/b", "2")
    save(store, "a")
    save(store, "ä", '"\\ud83e\\udd89"', chunks[1])
    delete(store, "ä")
    note(store, '{"topics":{}}')
    note(store, '{"topics":{"cats":1}}')
    return chunks


def test_all_versions_come_back_as_they_were(store: Store, other: Store, carry: Import, tmp_path: Path) -> None:
    chunks = lived_in(store)
    store.delete([chunks[0].key], "test")
    imported = carry(store, other)
    assert (imported.added, imported.tree_added, imported.are_notes_added) == (3, ["a", "a/b", "ä"], True)
    assert kept(other) == kept(store)
    assert [one.key for one in other.tree_snapshot("a/b", 1)] == [chunk.key for chunk in chunks[1:]]
    other.undelete([chunks[0].key], "test")
    assert len(other.tree_snapshot("a/b", 1)) == 3
    assert other.verify() == []
    first = (tmp_path / "export.jsonl").read_bytes()
    other.delete([chunks[0].key], "test")
    export_memory(other, tmp_path / "again.jsonl", now=NOW)
    kinds = (b'{"kind":"notes"', b'{"kind":"tree"')
    again = (tmp_path / "again.jsonl").read_bytes()
    assert [line for line in again.splitlines() if line.startswith(kinds)] == [
        line for line in first.splitlines() if line.startswith(kinds)
    ]


def test_the_lines_are_as_documented(store: Store, tmp_path: Path) -> None:
    (chunk,) = written_turn(store, count=2)
    save(store, "A/b", '{"x":1}', chunk)
    delete(store, "A/b")
    note(store, '{"topics":{}}')
    export_memory(store, tmp_path / "export.jsonl", now=NOW)
    notes, first, deletion = (json.loads(line) for line in (tmp_path / "export.jsonl").read_bytes().splitlines()[2:5])
    time = TIME.isoformat().replace("+00:00", "Z")
    assert notes == {
        "kind": "notes", "version": 1, "time": time, "origin": "test", "command": "replace", "document": '{"topics":{}}'
    }  # fmt: skip
    bare = {"kind": "tree", "path": "A/b", "origin": "test", "time": time, "created": time}
    assert deletion == {**bare, "version": 2}
    assert first == {
        **bare,
        "version": 1,
        "content": '{"x":1}',
        "snapshot": [
            {
                "turn": "1",
                "index": 0,
                "role": "user",
                "position": "0",
                "time": chunk.time.isoformat().replace("+00:00", "Z"),
                "text": chunk.text,
                "token_ids": chunk.token_ids.tolist(),
                "piece_lengths": [len(token.text) for token in chunk.tokens()],
                "similarity": 0.5,
            }
        ],
    }


def test_the_same_file_twice_adds_nothing_and_a_later_one_what_is_new(
    store: Store, other: Store, carry: Import
) -> None:
    lived_in(store)
    carry(store, other)
    before = kept(other)
    assert carry(store, other) == Imported("halo-weave", added=0, present=3)
    assert kept(other) == before
    save(store, "a", '"newer"')
    save(store, "new")
    note(store, '{"newer":true}')
    imported = carry(store, other)
    assert (imported.tree_added, imported.are_notes_added) == (["a", "new"], True)
    assert kept(other) == kept(store)
    save(other, "a", '"newest"')
    assert carry(store, other) == Imported("halo-weave", added=0, present=3)


def test_what_has_another_history_here_stays_and_is_said(store: Store, other: Store, carry: Import) -> None:
    for one, hours in ((store, 0), (other, 1)):
        save(one, "same beginning")
        save(one, "ours", str(hours), hours=hours)
        save(one, "equal by now", '"equal"', hours=hours)
        note(one, f'{{"hours":{hours}}}', hours=hours)
    save(store, "same beginning", '"theirs"', hours=2)
    save(other, "same beginning", '"ours"', hours=3)
    save(other, "deleted here", '"x"', hours=1)
    delete(other, "deleted here")
    save(store, "deleted here", '"y"')
    before = kept(other)
    imported = carry(store, other)
    assert imported.tree_differing == ["deleted here", "ours", "same beginning"]
    assert (imported.tree_added, imported.are_notes_added, imported.are_notes_differing) == ([], False, True)
    assert kept(other) == before
    assert imported.kept_in_words() == (
        "; the notes in the file differ and were not imported; 3 entries of the memory tree differ and were not "
        "imported: deleted here, ours, same beginning"
    )


def test_what_was_forgotten_here_does_not_come_back_in_a_snapshot(
    store: Store, other: Store, carry: Import, tmp_path: Path
) -> None:
    store.reserve(100)
    secret, plain = text_chunk(1, "Xylotomous secret", first=0), text_chunk(1, "plain words", first=50, index=1)
    store.write_chunks([secret, plain])
    carry(store, other)
    other.delete([secret.key], "test")
    other.forget([secret.key], "test")
    save(store, "a", "1", secret, plain)
    imported = carry(store, other)
    assert imported.tree_added == ["a"]
    assert [one.chunk for one in other.tree_snapshot("a", 1)] == [plain]
    assert b"Xylotomous" not in (tmp_path / "other" / "halo.db").read_bytes()
    assert b"Xylotomous" not in (tmp_path / "other" / "halo.db-wal").read_bytes()
    assert other.verify() == []


def test_a_snapshot_of_a_merged_chunk_comes_where_it_was_not_merged(store: Store, other: Store, carry: Import) -> None:
    left, right = written_turn(store, chunks=2)
    carry(store, other)
    merged = store.merge(left.key, right.key, "test").chunk
    save(store, "a", "1", merged)
    carry(store, other)
    assert [one.text for one in other.tree_snapshot("a", 1)] == [left.text + right.text]
    other.delete([right.key], "test")
    assert other.tree_snapshot("a", 1) == []


def tree_row(**changed: Any) -> Row:
    time = "2026-01-01T00:00:00Z"
    return {
        "kind": "tree", "path": "a", "version": 1, "created": time, "time": time, "origin": "x", "content": "1"
    } | changed  # fmt: skip


def notes_row(**changed: Any) -> Row:
    time = "2026-01-01T00:00:00Z"
    return {"kind": "notes", "version": 1, "time": time, "origin": "x", "command": "y", "document": "{}"} | changed


def snapshot_row(**changed: Any) -> Row:
    return {name: value for name, value in row().items() if name != "kind"} | {"similarity": 0.5} | changed


def export_of(*rows: Row) -> bytes:
    return made_export(*rows, chunks=0, tokens=0)


BAD_ROWS: dict[str, tuple[Row, ...]] = {
    "a first version that is not the first": (tree_row(version=2),),
    "a version twice": (tree_row(), tree_row()),
    "a gap between versions": (tree_row(), tree_row(version=3)),
    "paths out of order": (tree_row(path="b"), tree_row(path="a")),
    "a path with blanks": (tree_row(path=" a"),),
    "a path that is none": (tree_row(path="a//b"),),
    "content that is no JSON": (tree_row(content="{"),),
    "content as JSON": (tree_row(content={}),),
    "content beyond its size": (tree_row(content='"' + "x" * 70_000 + '"'),),
    "a time without a zone": (tree_row(created="2026-01-01T00:00:00"),),
    "something unknown": (tree_row(more=1),),
    "a snapshot beyond what was given out": (tree_row(snapshot=[snapshot_row(position="999")]),),
    "a snapshot of a turn that was not given out": (tree_row(snapshot=[snapshot_row(turn="1000")]),),
    "a snapshot with a wrong length": (tree_row(snapshot=[snapshot_row(text="hell")]),),
    "a similarity that is no number": (tree_row(snapshot=[snapshot_row(similarity=None)]),),
    "notes that do not begin": (notes_row(version=2),),
    "notes that are no object": (notes_row(document="[]"),),
    "notes that are no JSON": (notes_row(document="{"),),
    "notes beyond their size": (notes_row(document='{"a":"' + "x" * 300_000 + '"}'),),
}


@pytest.mark.parametrize("name", BAD_ROWS)
def test_what_is_not_sound_is_refused_and_nothing_changes(untouched: Store, tmp_path: Path, name: str) -> None:
    assert_refused(untouched, tmp_path / "bad.jsonl", export_of(*BAD_ROWS[name]))
    assert kept(untouched) == ([], [])


def test_what_is_sound_is_taken(store: Store, tmp_path: Path) -> None:
    rows = (notes_row(), tree_row(snapshot=[snapshot_row()]), tree_row(version=2, content=None), tree_row(path="b"))
    (tmp_path / "good.jsonl").write_bytes(export_of(*rows))
    imported = import_file(store, tmp_path / "good.jsonl")
    assert (imported.tree_added, imported.are_notes_added) == (["a", "b"], True)
    assert store.verify() == []


def test_a_snapshot_of_something_else_than_is_here_is_a_conflict(store: Store, tmp_path: Path) -> None:
    store.advance(next_turn=10, next_position=100)
    store.write_chunks([text_chunk(1, "other words", first=5)])
    (tmp_path / "bad.jsonl").write_bytes(export_of(tree_row(snapshot=[snapshot_row()])))
    with pytest.raises(StoreConflict, match="differs from the chunk that the memory has in its place") as caught:
        import_file(store, tmp_path / "bad.jsonl")
    assert_one_sentence(caught.value)
    assert kept(store) == ([], [])


paths = st.lists(st.sampled_from(["a", "b", "ü", "🦉"]), min_size=1, max_size=2).map("/".join)
steps = st.lists(st.tuples(paths, st.sampled_from(["save", "delete", "note"]), st.integers(0, 99)), max_size=12)


@settings(max_examples=25)
@given(steps, st.integers(0, 12))
def test_whatever_was_kept_comes_back_also_in_two_steps(all_steps: list[tuple[str, str, int]], half: int) -> None:
    with TemporaryDirectory() as folder, memory(Path(folder) / "a.db") as one, memory(Path(folder) / "b.db") as two:
        for place, (path, action, value) in enumerate(all_steps):
            if place == half:
                export_memory(one, Path(folder) / "half.jsonl", now=NOW)
                import_file(two, Path(folder) / "half.jsonl")
            if action == "save":
                save(one, path, str(value))
            elif action == "delete":
                delete(one, path)
            else:
                note(one, f'{{"value":{value}}}')
        export_memory(one, Path(folder) / "whole.jsonl", now=NOW)
        imported = import_file(two, Path(folder) / "whole.jsonl")
        assert (imported.tree_differing, imported.are_notes_differing) == ([], False)
        assert kept(two) == kept(one)
        assert two.verify() == []
