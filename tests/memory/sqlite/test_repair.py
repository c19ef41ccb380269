"""Damaged rows of the SQLite memory: the rest works, and they can be skipped in an export or set aside."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import numpy as np
import pytest

from halo_weave import cli
from halo_weave.errors import StoreConflict, StoreDamaged
from halo_weave.memory.sqlite import indexed_texts
from halo_weave.memory.sqlite.schema import MIGRATIONS
from halo_weave.memory.sqlite.store import SqliteStore
from halo_weave.records.chunks import ChunkKey
from halo_weave.records.tree import SnapshotChunk
from halo_weave.records.windows import BurialRecord, WindowRecord
from halo_weave.transfer import export_memory, import_file
from memory.sqlite.test_store import version_before, without_checksums
from support.made_up_chunks import TIME, made_up_chunk, ticking_clock, written_texts, written_turn
from support.servers.served import served

EMBEDDER = "made-up"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "halo.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(path, clock=ticking_clock())) as store:
        yield store


def damage(store: SqliteStore, *statements: str) -> None:
    """Damage rows with SQL rather than a flipped bit; SQLite notices as little."""
    with closing(sqlite3.connect(store.path, isolation_level=None)) as connection:
        indexed_texts.offer(connection)
        for statement in statements:
            assert connection.execute(statement).rowcount > 0


def saved_window(store: SqliteStore, name: str, *buried: BurialRecord) -> WindowRecord:
    window = WindowRecord(name, f"Window {name}", b"state", 0, TIME)
    store.put_window(window, buried=buried)
    return window


def test_one_damaged_window_is_listed_and_the_others_work(store: SqliteStore) -> None:
    for name in "abc":
        saved_window(store, name)
    damage(store, "UPDATE windows SET state = x'00' WHERE id = 'b'")
    damage(store, "UPDATE windows SET name = CAST(x'57ff' AS TEXT), saved_at = 9223372036854775807 WHERE id = 'c'")
    assert {one.id: one.name for one in store.windows()} == {"a": "Window a", "b": "Window b", "c": "W?"}
    assert store.window("a") is not None
    for name in "bc":
        with pytest.raises(StoreDamaged, match="`halo-weave memory repair`"):
            store.window(name)
        assert store.delete_window(name)
    assert store.verify() == []


def test_a_damaged_window_is_marked_in_the_servers_list_and_says_what_can_be_done_when_opened(tmp_path: Path) -> None:
    with served(tmp_path) as one:
        for name in ("sound", "broken"):
            window = one.post("/api/windows", {"name": name}, status=201)["id"]
            one.say(window, "Hello")
            one.program.close_window(one.program.window(window))
        with closing(sqlite3.connect(tmp_path / "halo.db")) as connection:
            connection.execute("UPDATE windows SET state = substr(state, 2) WHERE name = 'broken'")
            connection.commit()
        problems = {entry["name"]: entry["problem"] for entry in one.get("/api/windows")}
        assert problems["sound"] == ""
        assert "The saved state of the window broken is damaged; delete the window, or" in problems["broken"]
        response = one.http.get(f"/api/windows/{window}")
        assert response.status_code == 503
        assert problems["broken"] in response.text.replace("\\", "")


def test_a_window_with_a_damaged_burial_can_be_deleted(store: SqliteStore) -> None:
    chunks = written_turn(store, chunks=2)
    burials = [BurialRecord(chunk.key, chunk.first_position, 5.0, "It was dim.", TIME) for chunk in chunks]
    saved_window(store, "a", *burials)
    store.close()
    content = bytearray(store.path.read_bytes())
    # Change the table but not its indexes: the time directly follows the reason.
    content[content.rindex(b"It was dim.") + len(b"It was dim.") + 2] ^= 1
    store.path.write_bytes(content)
    with closing(SqliteStore(store.path)) as again:
        assert again.verify() != []
        assert again.delete_window("a")
        assert again.verify() == []


def test_a_timeline_with_a_damaged_entry_is_set_aside_whole_and_the_window_goes_on(store: SqliteStore) -> None:
    """Without one of its entries, older ones would lead to contexts that never were."""
    for name in "ab":
        window = WindowRecord(name, name, b"state", 0, TIME)
        for payload in (b"one", b"two", b"three"):
            version = store.put_window(window, timeline=payload)
            window = msgspec.structs.replace(window, version=version)
    damage(store, "UPDATE timeline SET payload = x'00' WHERE window = 'a' AND number = 2")
    with pytest.raises(StoreDamaged, match="timeline of the window a"):
        store.timeline("a")
    assert len(store.repair().set_aside) == 3
    assert (store.timeline("a"), len(store.timeline("b"))) == ([], 3)
    store.put_window(msgspec.structs.replace(window, id="a"), timeline=b"four")
    assert [entry.payload for entry in store.timeline("a")] == [b"four"]
    assert store.verify() == []


def test_repair_sets_a_damaged_chunk_aside_word_for_word_and_everything_else_works(store: SqliteStore) -> None:
    written_texts(store, "the first", "the sea is salty", "the third")
    damage(store, "UPDATE chunks SET text = replace(text, 'salty', 'sweet') WHERE id = 2")
    with pytest.raises(
        StoreDamaged, match=r"the chunk with id 2 .*`halo-weave memory repair` sets the damaged rows aside"
    ):
        store.chunks_from(0, 10)
    repaired = store.repair()
    assert [(one.what, one.problem) for one in repaired.set_aside] == [
        ("chunk 3:0 (user)", "the chunk with id 2 does not match its checksum")
    ]
    assert [stored.chunk.text for stored in store.chunks_from(0, 10)] == ["the first", "the third"]
    assert [match.id for match in store.search_words(["the"], 5)] == [1, 3]
    (kept,) = store.set_aside()
    assert kept.content["text"] == "the sea is sweet"
    assert store.verify() == []
    assert store.repair().set_aside == ()


def test_a_dry_run_says_the_same_and_changes_nothing(store: SqliteStore) -> None:
    written_texts(store, "the first", "the second")
    damage(store, "UPDATE chunks SET time = time + 1 WHERE id = 2")
    before = store.verify()
    would = store.repair(dry_run=True)
    assert store.verify() == before
    assert store.set_aside() == []
    assert would.set_aside[0].what == store.repair().set_aside[0].what


def test_nothing_takes_the_place_of_a_chunk_that_was_set_aside_but_itself(store: SqliteStore, tmp_path: Path) -> None:
    chunks = written_turn(store, chunks=3)
    export_memory(store, tmp_path / "before.jsonl")
    damage(store, "UPDATE chunks SET time = time + 1 WHERE id = 2")
    counters = store.stats().next_turn, store.stats().next_position
    store.repair()
    assert (store.stats().next_turn, store.stats().next_position) == counters
    key = chunks[1].key
    damage(store, "UPDATE chunks SET time = time + 1 WHERE id = 3")
    store.repair()
    assert store.next_index(key.turn, "user") == 3
    with pytest.raises(StoreConflict, match="belongs to a damaged chunk that was set aside"):
        store.write_chunks([made_up_chunk(key.turn + 1, role="assistant", first=chunks[1].first_position, count=2)])
    assert import_file(store, tmp_path / "before.jsonl").added == 2
    assert [stored.chunk for stored in store.chunks_from(0, 9)] == chunks
    assert store.verify() == []


def test_what_was_merged_into_a_damaged_chunk_is_a_chunk_of_its_own_again_but_stays_deleted(store: SqliteStore) -> None:
    first, second = written_turn(store, chunks=2), written_turn(store, chunks=3)
    for turn in (first, second):
        store.merge(turn[0].key, turn[1].key, "test")
    store.delete([second[0].key], "test")
    damage(store, "UPDATE chunks SET time = time + 1 WHERE id IN (1, 3)")
    repaired = store.repair()
    assert any("is separate again" in sentence for sentence in repaired.mended)
    found = {stored.chunk.key: stored.chunk.deleted for stored in store.chunks_from(0, 9)}
    assert found == {first[1].key: False, second[1].key: True, second[2].key: False}
    assert store.verify() == []


def test_what_is_kept_on_purpose_goes_back_to_the_version_before_the_damaged_one(store: SqliteStore) -> None:
    (chunk,) = written_turn(store)
    for number in range(1, 4):
        store.put_notes(str(number), expected_version=number - 1, origin="test", command=".")
        store.put_tree_entry("a", str(number), [SnapshotChunk(chunk, 0.5)], time=TIME, origin="test")
    store.put_tree_entry("b", '"once"', [SnapshotChunk(chunk, 0.5)], time=TIME, origin="test")
    damage(
        store,
        "UPDATE notes SET document = '9' WHERE version > 1",
        "UPDATE tree SET content = '9' WHERE version > 1 OR path = 'b'",
    )
    repaired = store.repair()
    assert len([one for one in repaired.set_aside if one.source in ("notes", "tree")]) == 5
    assert (store.notes().version, store.notes().document) == (3, "1")
    entry = store.tree_entry("a")
    assert entry is not None
    assert (entry.version, entry.content) == (3, "1")
    assert store.tree_entry("b") is None
    assert store.put_tree_entry("b", "2", [], time=TIME, origin="test") == 2
    assert store.verify() == []


def test_damaged_counters_go_on_beyond_everything_that_was_given_out(store: SqliteStore) -> None:
    chunks = written_turn(store, chunks=2)
    before = store.reserve(5)
    damage(store, "UPDATE counters SET next_turn = x'0101', next_position = x'0101'")
    with pytest.raises(StoreDamaged, match="the counters of turns, positions and changes"):
        store.reserve(1)
    store.repair()
    after = store.reserve(1)
    assert after.turn_user > before.turn_assistant
    assert after.position_start >= before.position_end
    assert [stored.chunk for stored in store.chunks_from(0, 9)] == chunks
    assert store.verify() == []


def test_a_damaged_vector_counts_as_missing_and_is_noticed(store: SqliteStore) -> None:
    ids = written_texts(store, "one", "two", "three")
    store.put_vectors(EMBEDDER, {one: np.full(4, one, dtype=np.float32) for one in ids})
    damage(store, f"UPDATE vectors SET vector = zeroblob(16) WHERE chunk = {ids[1]}")
    assert store.vectors_since(EMBEDDER, 0).ids.tolist() == [ids[0], ids[2]]
    assert store.vectors_by_ids(EMBEDDER, ids)[0].tolist() == [ids[0], ids[2]]
    assert store.verify() == [f"A vector of the chunk with id {ids[1]} does not match its checksum."]
    assert store.repair().vectors == 1
    assert store.ids_without_vector(EMBEDDER) == [ids[1]]
    assert store.verify() == []


def test_a_memory_from_before_all_rows_had_checksums_gets_them_and_damage_stays_damage(store: SqliteStore) -> None:
    ids = written_texts(store, "one", "two")
    store.put_vectors(EMBEDDER, {one: np.full(4, one, dtype=np.float32) for one in ids})
    store.serve_embedder(EMBEDDER)
    store.delete([ChunkKey(1, 0, "user")], "test")
    store.forget_all_deleted("test")
    before = store.audit(), store.stats(), store.identity(), store.serving_embedder()
    store.close()
    with closing(sqlite3.connect(store.path, isolation_level=None)) as connection:
        without_checksums(connection)
        connection.execute(f"PRAGMA user_version = {version_before('CREATE TABLE damaged')}")
    with closing(SqliteStore(store.path)) as again:
        assert again.verify() == []
        assert (again.audit(), again.identity(), again.serving_embedder()) == (before[0], before[2], before[3])
        assert again.stats().vectors == before[1].vectors
        assert again.stats().schema_version == len(MIGRATIONS)
    with closing(sqlite3.connect(store.path, isolation_level=None)) as connection:
        without_checksums(connection)
        connection.execute("UPDATE audit SET origin = CAST(x'ff' AS TEXT) WHERE id = 1")
        connection.execute(f"PRAGMA user_version = {version_before('CREATE TABLE damaged')}")
    with closing(SqliteStore(store.path)) as again:
        assert again.verify() == ["Entry 1 of the log does not match its checksum."]


def test_what_was_set_aside_is_forgotten_with_what_has_its_positions(store: SqliteStore) -> None:
    (chunk,) = written_turn(store)
    store.put_tree_entry("a", "1", [SnapshotChunk(chunk, 0.5)], time=TIME, origin="test")
    damage(store, "UPDATE snapshot_chunks SET text = upper(text)")
    store.repair()
    assert [one.source for one in store.set_aside()] == ["snapshot_chunks", "tree_snapshots"]
    store.delete([chunk.key], "test")
    store.forget([chunk.key], "test")
    assert [one.source for one in store.set_aside()] == ["tree_snapshots"]


def test_export_refuses_what_is_damaged_unless_it_is_to_be_left_out(store: SqliteStore, tmp_path: Path) -> None:
    written_texts(store, "the first", "the second", "the third")
    damage(store, "UPDATE chunks SET time = time + 1 WHERE id = 2")
    with pytest.raises(StoreDamaged, match="`halo-weave export --skip-damaged FILE` exports the rest"):
        export_memory(store, tmp_path / "out.jsonl")
    before = sorted(file.name for file in tmp_path.iterdir())
    findings = store.verify()
    exported = export_memory(store, tmp_path / "out.jsonl", skip_damaged=True)
    assert (exported.chunks, [one.what for one in exported.left_out]) == (2, ["chunk 3:0 (user)"])
    assert store.verify() == findings
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted([*before, "out.jsonl"])
    with closing(SqliteStore(tmp_path / "other.db")) as other:
        import_file(other, tmp_path / "out.jsonl")
        assert [stored.chunk.text for stored in other.chunks_from(0, 9)] == ["the first", "the third"]
        assert other.verify() == []


@pytest.fixture
def damaged_path(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> Path:
    written_texts(store, "the first", "the second")
    damage(store, "UPDATE chunks SET text = CAST(x'68ff69' AS TEXT) WHERE id = 2")
    monkeypatch.setenv("HALO_MEMORY_PATH", str(store.path))
    store.close()
    return store.path


def test_the_commands_say_what_was_damaged_and_show_it_afterwards(
    damaged_path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def shown(*arguments: str, code: int = 0) -> str:
        assert cli.main(list(arguments)) == code
        return capsys.readouterr().out

    assert "The chunk with id 2 does not match its checksum." in shown("memory", "verify", code=1)
    out = shown("export", str(tmp_path / "out.jsonl"), "--skip-damaged")
    assert "1 damaged record skipped:\n  chunk 3:0 (user): the chunk with id 2 does not match its checksum\n" in out
    assert "nothing was changed" in shown("memory", "repair", "--dry-run")
    assert json.loads(shown("memory", "repair", "--dry-run", "--json"))["set_aside"][0]["what"] == "chunk 3:0 (user)"
    assert "1 damaged row set aside:\n  chunk 3:0 (user): the chunk with id 2" in shown("memory", "repair")
    assert "text: 3 bytes, 68ff69" in shown("memory", "damaged")
    assert json.loads(shown("memory", "damaged", "--json"))[0]["source"] == "chunks"
    assert shown("memory", "repair") == "No damage found; nothing was changed.\n"
    shown("memory", "verify")
    assert damaged_path.exists()


def test_the_server_exports_the_rest_if_it_is_asked_to(tmp_path: Path) -> None:
    with served(tmp_path) as one:
        window = one.new_window()
        one.say(window, "Hello")
        with closing(sqlite3.connect(tmp_path / "halo.db")) as connection:
            connection.execute("UPDATE chunks SET time = time + 1 WHERE role = 'user'")
            connection.commit()
        assert one.http.get("/api/export").status_code == 503
        lines = one.http.get("/api/export?skip_damaged=true").text.splitlines()
        assert json.loads(lines[0])["chunks"] == 1


def test_damaged_keys_of_the_reader_are_not_used_and_are_made_again_after_a_repair(store: SqliteStore) -> None:
    ids = written_texts(store, "one", "two")
    store.put_keys("reader", {chunk_id: np.full((3, 4), chunk_id, dtype=np.int8) for chunk_id in ids})
    damage(store, f"UPDATE token_keys SET keys = zeroblob(12) WHERE chunk = {ids[0]}")
    assert set(store.keys_by_ids("reader", ids, 4)) == {ids[1]}
    assert store.verify() == [f"The reader's keys of the chunk with id {ids[0]} do not match their checksum."]
    assert store.repair().vectors == 1
    assert store.verify() == []
    assert store.set_aside() == []
    assert store.ids_without_keys("reader") == [ids[0]]
