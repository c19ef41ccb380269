"""What is specific to the SQLite memory: its file, its earlier schemas, and everything that can happen to a file."""

import os
import random
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from halo_weave.errors import (
    InputError,
    StoreConflict,
    StoreDamaged,
    StoreError,
    StoreTooNew,
    StoreUnavailable,
)
from halo_weave.memory.sqlite import database, indexed_texts, migrating, window_chunks
from halo_weave.memory.sqlite.errors import store_error
from halo_weave.memory.sqlite.rows import checksum
from halo_weave.memory.sqlite.schema import MIGRATIONS
from halo_weave.memory.sqlite.store import SqliteStore
from halo_weave.records.chunks import ChunkKey, Stored
from support.made_up_chunks import TIME, text_chunk, written_texts, written_turn

NOBODY = 65534


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory" / "halo.db"


@pytest.fixture
def filled(path: Path) -> Path:
    """A closed memory with enough content for several pages of everything."""
    with closing(SqliteStore(path)) as store:
        for _ in range(30):
            written_turn(store, chunks=4, count=40)
    return path


@contextmanager
def raw(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the file as another program would, but with the function that the word index needs."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        indexed_texts.offer(connection)
        yield connection


def without_checksums(connection: sqlite3.Connection) -> None:
    """Revert to the schema before every table had checksums."""
    without_sharing(connection)
    connection.execute("DROP TABLE damaged")
    for table in ("counters", "settings", "forgotten", "embedders", "vectors", "audit"):
        connection.execute(f"ALTER TABLE {table} DROP COLUMN checksum")


def version_before(words: str) -> int:
    """Return the schema version just before the migration that contains these words."""
    return next(number for number, step in enumerate(MIGRATIONS) if words in step)


def without_timeline(connection: sqlite3.Connection) -> None:
    """Revert to the schema before windows had a timeline."""
    connection.execute("DROP TABLE IF EXISTS timeline")


def without_token_keys(connection: sqlite3.Connection) -> None:
    """Revert to the schema before the reader's keys were stored."""
    without_timeline(connection)
    connection.execute("DROP TABLE IF EXISTS window_places")
    for trigger in ("token_keys_of_changed_chunk", "token_keys_of_removed_chunk"):
        connection.execute(f"DROP TRIGGER IF EXISTS {trigger}")
    connection.execute("DROP TABLE IF EXISTS token_keys")
    connection.execute("DROP INDEX IF EXISTS chunks_by_window")


def without_totals(connection: sqlite3.Connection) -> None:
    without_token_keys(connection)
    for kind, name in connection.execute("SELECT type, name FROM sqlite_master WHERE name LIKE '%total%'").fetchall():
        if kind == "trigger":
            connection.execute(f"DROP TRIGGER {name}")
    for table in ("totals", "vector_totals"):
        connection.execute(f"DROP TABLE IF EXISTS {table}")


def without_sharing(connection: sqlite3.Connection) -> None:
    """Revert to the schema before snapshots of the tree shared their chunks."""
    without_totals(connection)
    columns = (
        "path, version, turn, number, role, first_position, last_position, text, token_ids, piece_lengths, time,"
        " metadata, similarity, embedder, vector"
    )
    rows = connection.execute(
        f"SELECT tree_snapshots.id, {columns} FROM tree_snapshots JOIN snapshot_chunks"
        " ON snapshot_chunks.id = tree_snapshots.chunk"
    ).fetchall()
    for table in ("tree_snapshots", "snapshot_chunks"):
        connection.execute(f"DROP TABLE {table}")
    for statement in MIGRATIONS[2].split(";"):
        if "tree_snapshots" in statement:
            connection.execute(statement)
    places = ", ".join("?" * 17)
    connection.executemany(f"INSERT INTO tree_snapshots VALUES ({places})", ((*row, checksum(row[1:])) for row in rows))


def everything(path: Path) -> list[Stored]:
    with closing(SqliteStore(path)) as store:
        return store.chunks_from(0, 10_000)


def test_a_new_memory_is_made_with_its_folder_and_nothing_else(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
        assert store.stats().schema_version == len(MIGRATIONS)
        assert store.verify() == []
    assert sorted(file.name for file in path.parent.iterdir()) == ["halo.db", "halo.db-lock"]
    with raw(path) as connection:
        assert connection.execute("PRAGMA application_id").fetchone() == (0x48616C6F,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_the_memory_is_readable_by_its_owner_alone(path: Path) -> None:
    SqliteStore(path).close()
    assert path.stat().st_mode & 0o077 == 0


def test_threads_that_make_the_memory_at_once_make_one(path: Path) -> None:
    stores: list[SqliteStore] = []
    threads = [threading.Thread(target=lambda: stores.append(SqliteStore(path))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    turns = [store.reserve(1).turn_user for store in stores]
    for store in stores:
        store.close()
    assert len(set(turns)) == 6


def test_a_strange_path_is_just_a_path(tmp_path: Path) -> None:
    path = tmp_path / "größe & 50% #1?mode=memory.db"
    with closing(SqliteStore(path)) as store:
        store.reserve(1)
    assert path.is_file()


def test_an_older_memory_is_brought_to_the_present_form(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = everything(filled)
    step = "CREATE TABLE later (id INTEGER PRIMARY KEY) STRICT;\nINSERT INTO later VALUES (7);\n"
    monkeypatch.setattr(migrating, "MIGRATIONS", (*MIGRATIONS, step))
    assert everything(filled) == before
    with raw(filled) as connection:
        assert connection.execute("SELECT id FROM later").fetchall() == [(7,)]
        assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS) + 1,)
    assert everything(filled) == before


def test_a_memory_from_before_there_were_outlines_and_wishes_gets_them(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
        store.reserve(60)
        store.reserve(60)
        chunks = [text_chunk(1, "Ada: I swim.", first=10), text_chunk(1, "Always ask me.", first=20, index=1)]
        ids = store.write_chunks([*chunks, text_chunk(2, "I prefer tea.", first=30), text_chunk(3, "Why?", first=40)])
        store.delete([chunks[1].key], "test")
    with raw(path) as connection:
        for kind, name in connection.execute("SELECT type, name FROM sqlite_master").fetchall():
            if name in ("outlines", "wishes") or (kind == "trigger" and not name.startswith("words_")):
                connection.execute(f"DROP {kind} IF EXISTS {name}")
        connection.execute("ALTER TABLE burials DROP COLUMN brightness")
        without_checksums(connection)
        connection.execute("PRAGMA user_version = 3")
    with closing(SqliteStore(path)) as store:
        assert [one[1:7] for one in store.outlines_by_ids(ids)] == [
            ("user", 10, TIME, False, 2, "Ada"),
            ("user", 20, TIME, True, 2, "Ada"),
            ("user", 30, TIME, False, 1, None),
            ("user", 40, TIME, False, 1, None),
        ]
        assert store.wishes(9) == [ids[2]]
        store.undelete([chunks[1].key], "test")
        assert store.wishes(9) == [ids[2], ids[1]]
        assert store.verify() == []


def test_a_memory_from_before_there_were_totals_gets_them(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(migrating, "MIGRATIONS", MIGRATIONS[: version_before("CREATE TABLE totals")])
        with closing(SqliteStore(path)) as store:
            _use_in_every_way(store)
    with closing(SqliteStore(path)) as store:
        stats = store.stats()
        assert (stats.chunks, stats.deleted_chunks, stats.merged_chunks) == (9, 2, 1)
        assert (stats.tokens, stats.vectors) == (50, {"narrow": 6, "wide": 1})
        assert store.verify() == []


def test_a_memory_from_before_there_were_languages_finds_its_words_in_all_of_them(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its words are indexed again, its wishes recognised and its speakers named."""
    texts = [
        "王芳：我在上海买了船。",
        "Merk dir, dass ich zwei alte Häuser habe.",
        "मेरी किताबें",
        "the running sea",
        "gone 上海",
    ]
    with monkeypatch.context() as patch:
        patch.setattr(migrating, "MIGRATIONS", MIGRATIONS[: version_before("indexed_text(")])
        patch.setattr("halo_weave.memory.sqlite.wishes.is_wish", lambda _: False)
        with closing(SqliteStore(path)) as store:
            ids = written_texts(store, *texts)
            store.delete([store.chunks_by_ids(ids[-1:])[0].chunk.key], "test")
    with closing(SqliteStore(path)) as store:
        for term, found in {"上海": ids[0], "船": ids[0], "Haus": ids[1], "किताब": ids[2], "runs": ids[3]}.items():
            assert [match.id for match in store.search_words([term], 9)] == [found], term
        assert store.wishes(9) == [ids[1]]
        assert store.outlines_by_ids(ids[:1])[0].speaker == "王芳"
        assert store.verify() == []
        store.undelete([store.chunks_by_ids(ids[-1:])[0].chunk.key], "test")
        assert store.count_words(["上海"]).having == [2]
        assert store.verify() == []


def test_totals_are_those_of_a_count_after_each_kind_of_change(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
        _use_in_every_way(store)
        stats = store.stats()
        assert (stats.chunks, stats.deleted_chunks, stats.merged_chunks) == (9, 2, 1)
        assert (stats.tokens, stats.vectors) == (50, {"narrow": 6, "wide": 1})
        store.forget_all_deleted("test")
        assert (store.stats().chunks, store.stats().deleted_chunks, store.stats().tokens) == (7, 0, 40)
        assert store.verify() == []
        store.drop_vectors("wide")
        assert store.stats().vectors == {"narrow": 6}
        store.clear("test")
        stats = store.stats()
        assert (stats.chunks, stats.deleted_chunks, stats.merged_chunks, stats.tokens) == (0, 0, 0, 0)
        assert stats.vectors == {}
        _use_in_every_way(store)
        assert store.stats().vectors == {"narrow": 6, "wide": 1}
        assert store.verify() == []


def _use_in_every_way(store: SqliteStore) -> None:
    """Ten chunks of five tokens: two deleted, one undeleted, one merged away; vectors added, replaced and removed."""
    chunks = [chunk for _ in range(5) for chunk in written_turn(store, chunks=2, count=5)]
    ids = [stored.id for chunk in chunks if (stored := store.chunk(chunk.key)) is not None]
    narrow, wide = np.ones(4, dtype=np.float32), np.ones(8, dtype=np.float16)
    store.put_vectors("narrow", dict.fromkeys(ids, narrow))
    store.put_vectors("narrow", {ids[0]: narrow})
    store.put_vectors("wide", {ids[0]: wide, ids[4]: wide})
    store.delete([chunk.key for chunk in chunks[4:7]], "test")
    store.undelete([chunks[6].key], "test")
    store.put_vectors("narrow", {ids[6]: narrow})
    store.merge(chunks[8].key, chunks[9].key, "test")


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        ("UPDATE totals SET chunks = 7", "The total of chunks is 7, but there are 9."),
        ("UPDATE totals SET deleted = 0", "The total of deleted is 0, but there are 2."),
        ("UPDATE totals SET merged = 3", "The total of merged is 3, but there are 1."),
        ("UPDATE totals SET tokens = 49", "The total of tokens is 49, but there are 50."),
        ("UPDATE vector_totals SET vectors = 5", "The total of vectors of narrow is 5, but there are 6."),
        ("DELETE FROM vector_totals", "The total of vectors of narrow is 0, but there are 6."),
    ],
)
def test_totals_that_are_wrong_are_found(path: Path, change: str, finding: str) -> None:
    with closing(SqliteStore(path)) as store:
        _use_in_every_way(store)
        with raw(path) as connection:
            connection.execute(change)
        assert finding in store.verify()


def test_stats_take_the_same_steps_however_many_chunks_there_are(path: Path) -> None:
    """Counts steps of SQLite's virtual machine; a scan takes several per row."""

    def steps(store: SqliteStore) -> int:
        counted: list[None] = []
        with store._database.reading() as connection:
            connection.set_progress_handler(lambda: counted.append(None), 1)
        store.stats()  # it reuses the reader that was just returned
        with store._database.reading() as connection:
            connection.set_progress_handler(None, 0)
        return len(counted)

    with closing(SqliteStore(path)) as store:
        _use_in_every_way(store)
        few = steps(store)
        assert few > 0
        ids = [chunk_id for _ in range(20) for chunk_id in _many_chunks(store)]
        store.put_vectors("narrow", dict.fromkeys(ids, np.ones(4, dtype=np.float32)))
        assert store.stats().chunks == 2009
        assert steps(store) == few


def _many_chunks(store: SqliteStore) -> list[int]:
    given = store.reserve(200)
    return store.write_chunks(
        [text_chunk(given.turn_user, "ab", first=given.position_start + 2 * index, index=index) for index in range(100)]
    )


def test_a_step_that_fails_leaves_the_older_form(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = everything(filled)
    step = "CREATE TABLE later (id INTEGER PRIMARY KEY) STRICT;\nINSERT INTO nowhere VALUES (7);\n"
    with monkeypatch.context() as patch:
        patch.setattr(migrating, "MIGRATIONS", (*MIGRATIONS, step))
        with pytest.raises(StoreError, match="nowhere"):
            SqliteStore(filled)
    assert everything(filled) == before
    with raw(filled) as connection:
        assert connection.execute("SELECT count(*) FROM sqlite_schema WHERE name = 'later'").fetchone() == (0,)


def test_a_newer_memory_is_refused_in_one_sentence_and_not_touched(filled: Path) -> None:
    with raw(filled) as connection:
        connection.execute("PRAGMA user_version = 99")
    before = filled.read_bytes()
    with pytest.raises(
        StoreTooNew,
        match=rf"has version 99, but this version of Halo Weave reads versions up to {len(MIGRATIONS)}; update",
    ) as caught:
        SqliteStore(filled)
    assert str(caught.value).count(".") - str(filled).count(".") == 1
    assert filled.read_bytes() == before


@pytest.mark.parametrize("content", [b"This is a letter, and no memory at all.\n" * 100, b"\0" * 8192, b"x"])
def test_a_file_that_is_no_memory_is_named_and_not_touched(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(StoreDamaged, match=r"halo\.db"):
        SqliteStore(path)
    assert path.read_bytes() == content


def test_another_programs_database_is_named_and_not_touched(path: Path) -> None:
    path.parent.mkdir()
    with raw(path) as connection:
        connection.execute("CREATE TABLE songs (name TEXT)")
    before = path.read_bytes()
    with pytest.raises(StoreDamaged, match="is a database, but not a Halo Weave memory"):
        SqliteStore(path)
    assert path.read_bytes() == before


def test_an_empty_file_is_not_taken_for_a_new_memory(path: Path) -> None:
    path.parent.mkdir()
    path.touch()
    with pytest.raises(StoreDamaged, match="is empty and therefore not a memory"):
        SqliteStore(path)


def test_a_journal_without_its_memory_is_not_given_to_a_new_one(path: Path) -> None:
    path.parent.mkdir()
    path.with_name("halo.db-wal").write_bytes(b"somebody's last words")
    with pytest.raises(StoreDamaged, match=r"is missing, but its journal halo\.db-wal exists"):
        SqliteStore(path)
    assert not path.exists()


def test_a_folder_in_the_files_place_is_a_clear_error(path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(StoreError, match=r"halo\.db"):
        SqliteStore(path)


@pytest.mark.parametrize("missing_bytes", [4096, 10_000, 100_000])
def test_a_truncated_memory_is_a_clear_error(filled: Path, missing_bytes: int) -> None:
    os.truncate(filled, filled.stat().st_size - missing_bytes)
    with pytest.raises(StoreDamaged, match=r"is damaged .*; restore a backup"):
        everything(filled)


@pytest.mark.parametrize("damage", [lambda page: bytes(len(page)), lambda page: random.Random(1).randbytes(len(page))])
def test_a_damaged_page_gives_a_clear_error_never_a_wrong_answer(
    filled: Path, tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    truth = everything(filled)
    content = filled.read_bytes()
    copy = tmp_path / "damaged.db"
    noticed = 0
    for start in range(0, len(content), 4096):
        page = damage(content[start : start + 4096])
        copy.write_bytes(content[:start] + page + content[start + 4096 :])
        noticed += not _reads_the_truth(copy, truth)
    assert noticed > len(content) // 4096 // 4


def _reads_the_truth(path: Path, truth: list[Stored]) -> bool:
    """Return False if the damage was detected; any wrong answer fails the test."""
    try:
        with closing(SqliteStore(path)) as store:
            assert store.chunks_from(0, 10_000) == truth
            assert store.chunks_by_ids([one.id for one in truth]) == truth
            assert [store.chunk(one.chunk.key) for one in truth] == truth
            restored = store.tokens_by_positions(range(truth[-1].chunk.end_position))
            assert "".join(token.text for token in restored) == "".join(one.chunk.text for one in truth)
    except StoreDamaged:
        return False
    return True


def test_a_single_flipped_bit_in_what_was_said_is_noticed(filled: Path) -> None:
    content = bytearray(filled.read_bytes())
    place = content.rindex(b" running")
    content[place + 1] ^= 1
    filled.write_bytes(content)
    with pytest.raises(StoreDamaged, match=r"the chunk with id \d+ does not match its checksum"):
        everything(filled)


BURIAL = "('w', x'0101', 0, 'user', x'00', 5.0, 'It was dim.', 0, 0, NULL)"


def test_verify_says_what_is_wrong(filled: Path) -> None:
    wrong = {
        "UPDATE counters SET next_position = x'0101'": "The next position would be 1",
        "UPDATE counters SET next_turn = x'0101'": "The next turn would be 1",
        "UPDATE counters SET change = 0": "The change number is 0",
        "UPDATE chunks SET time = time + 1 WHERE id = 3": "The chunk with id 3 does not match its checksum",
        "UPDATE chunks SET first_position = x'0103' WHERE id = 5": "which another chunk has",
        "INSERT INTO words (words, rowid, text) SELECT 'delete', id, text FROM chunks WHERE id = 4": "word index lacks",
        "INSERT INTO words (rowid, text) VALUES (4, 'more')": "word index does not match the texts",
        "UPDATE chunks SET merged_into = 9999 WHERE id = 5": "refers to a missing row of chunks",
        "DELETE FROM outlines WHERE id = 7": "There is no outline of the chunk with id 7",
        "INSERT INTO outlines SELECT 999, turn, role, turn, time, 0, NULL FROM chunks WHERE id = 7": "id 999.",
        "UPDATE outlines SET deleted = 1 WHERE id = 7": "There is a wrong outline of the chunk with id 7",
        "UPDATE outlines SET opening = 'Ada: ' WHERE id = 7": "does not match the beginning of its turn",
        "DELETE FROM settings WHERE name = 'identity'": "its identity is missing",
        "INSERT INTO forgotten SELECT id, turn, number, role, NULL, 1, 0 FROM chunks WHERE id = 6": "removed chunk.",
        "INSERT INTO forgotten VALUES (999, x'0101', 99, 'user', x'0103', 1, 0)": "which another chunk has",
        "INSERT INTO windows VALUES ('w', 'Window', x'00', 1, 0, 0)": "The window w does not match its checksum",
        "INSERT INTO journal VALUES (1, 'w', x'0101', x'00', 0)": "journal of the window w does not match its checksum",
        f"INSERT INTO burials VALUES {BURIAL}": "A burial in the window w does not match its checksum",
        f"INSERT INTO burials VALUES {BURIAL} -- again": "burials of the window w, which does not exist",
        "INSERT INTO timeline VALUES ('w', 1, 0, 0, 1, x'00', 0)": "timeline of the window w does not match its",
        "INSERT INTO timeline VALUES ('w', 1, 0, 0, 1, x'00', 1)": "timeline of the window w, which does not exist",
    }
    healthy = filled.read_bytes()
    for statement, finding in wrong.items():
        filled.write_bytes(healthy)
        with raw(filled) as connection:
            connection.execute(statement)
        with closing(SqliteStore(filled)) as store:
            findings = store.verify()
        assert any(finding in found for found in findings), (statement, findings)


def test_verify_reports_a_damaged_page_instead_of_failing(filled: Path) -> None:
    content = bytearray(filled.read_bytes())
    page = content.rindex(b" running") // 4096 * 4096
    content[page : page + 4096] = bytes(4096)
    filled.write_bytes(content)
    with closing(SqliteStore(filled)) as store:
        assert store.verify() != []


def test_verify_waits_for_no_writer_and_leaves_nothing_behind(filled: Path) -> None:
    with closing(SqliteStore(filled, timeout_s=0.05)) as store, raw(filled) as other:
        store.reserve(1)
        before = sorted(filled.parent.iterdir())
        other.execute("BEGIN IMMEDIATE")
        assert store.verify() == []
        other.execute("ROLLBACK")
        assert sorted(filled.parent.iterdir()) == before


def test_vectors_of_deleted_chunks_are_found_by_verify(filled: Path) -> None:
    with raw(filled) as connection:
        connection.execute("INSERT INTO embedders VALUES (1, 'made-up', 2, 'float16', 0)")
        connection.execute("INSERT INTO vectors VALUES (1, 2, 1, 1, x'00000000', 0), (2, 3, 1, 2, x'00', 0)")
        connection.execute("UPDATE chunks SET deleted = 1 WHERE id = 2")
    with closing(SqliteStore(filled)) as store:
        findings = store.verify()
    assert "The chunk with id 2 is deleted or merged, but still has a vector." in findings
    assert "The vector of made-up for the chunk with id 3 has the wrong length." in findings


@contextmanager
def without_privileges() -> Iterator[None]:
    """Drop root's privileges for a moment, because root may write anything."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def protected() -> Iterator[Path]:
    """A memory that everybody may read and nobody may write, in a folder outside the owner's own."""
    folder = Path(tempfile.mkdtemp())
    path = folder / "halo.db"
    with closing(SqliteStore(path)) as store:
        written_turn(store)
    path.chmod(0o444)
    path.with_name("halo.db-lock").unlink()
    folder.chmod(0o555)
    yield path
    folder.chmod(0o755)
    shutil.rmtree(folder)


def test_a_read_only_memory_says_so_and_stays_as_it_is(protected: Path) -> None:
    before = protected.read_bytes()
    with (
        without_privileges(),
        pytest.raises(StoreUnavailable, match=r"read-only|cannot be opened"),
        closing(SqliteStore(protected)) as store,
    ):
        store.reserve(1)
    assert protected.read_bytes() == before


def test_a_read_only_memory_in_use_can_be_read_but_not_written(protected: Path) -> None:
    protected.parent.chmod(0o755)
    with closing(SqliteStore(protected)) as owner:
        owner.reserve(1)
        for file in protected.parent.iterdir():
            file.chmod(0o444)
        protected.parent.chmod(0o555)
        with without_privileges(), closing(SqliteStore(protected)) as store:
            assert len(store.chunks_from(0, 5)) == 1
            with pytest.raises(StoreUnavailable, match="is read-only; nothing was changed"):
                store.reserve(1)
        protected.parent.chmod(0o755)
        for file in protected.parent.iterdir():
            file.chmod(0o644)


def test_a_new_memory_in_a_protected_folder_is_a_clear_error(protected: Path) -> None:
    with without_privileges(), pytest.raises(StoreUnavailable, match="cannot be read or created"):
        SqliteStore(protected.with_name("other.db"))


def test_a_memory_locked_by_another_program_is_a_clear_error_and_works_again_later(path: Path) -> None:
    with closing(SqliteStore(path, timeout_s=0.05)) as store, raw(path) as other:
        (chunk,) = written_turn(store)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable, match="is locked by another program"):
            store.reserve(1)
        assert len(store.chunks_from(0, 5)) == 1
        other.execute("ROLLBACK")
        assert store.reserve(1).position_start == chunk.end_position


def test_a_process_that_hangs_in_the_queue_of_writers_holds_up_nobody_for_ever(path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    with closing(SqliteStore(path, timeout_s=0.05)) as store, path.with_name("halo.db-lock").open("r+b") as queue:
        fcntl.flock(queue, fcntl.LOCK_EX)
        assert store.reserve(1).turn_user == 1


def test_sqlites_words_for_a_full_disk_become_ours(filled: Path) -> None:
    with raw(filled) as connection:
        connection.execute("PRAGMA max_page_count = 1")
        with pytest.raises(sqlite3.Error) as caught:
            connection.execute("CREATE TABLE more AS SELECT * FROM chunks")
    error = store_error(filled, caught.value)
    assert isinstance(error, StoreUnavailable)
    assert "is full; nothing" in str(error)


def test_sqlites_words_for_a_contradiction_become_ours(filled: Path) -> None:
    with raw(filled) as connection, pytest.raises(sqlite3.Error) as caught:
        connection.execute("INSERT INTO counters SELECT * FROM counters")
    assert isinstance(store_error(filled, caught.value), StoreConflict)


def test_a_write_that_is_interrupted_leaves_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(SqliteStore(path)) as store:
        (chunk,) = written_turn(store)
        before = store.chunks_from(0, 5)
        with monkeypatch.context() as patch:
            patch.setattr("halo_weave.memory.sqlite.audit.record", _interrupted)
            with pytest.raises(KeyboardInterrupt):
                store.delete([chunk.key], "test")
        assert store.chunks_from(0, 5) == before
        assert store.delete([chunk.key], "test").changed == (chunk.key,)


def _interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def test_a_backup_is_whole_while_others_write_and_opens_as_a_memory(filled: Path, tmp_path: Path) -> None:
    before = everything(filled)
    copy = tmp_path / "backup.db"
    with closing(SqliteStore(filled)) as store, closing(SqliteStore(filled)) as other:
        writing = threading.Thread(target=lambda: [written_turn(other) for _ in range(20)])
        writing.start()
        store.backup(copy)
        writing.join()
        assert len(store.chunks_from(0, 10_000)) == len(before) + 20
    assert [file.name for file in tmp_path.iterdir() if file.name.startswith((".", "backup"))] == ["backup.db"]
    with closing(SqliteStore(copy)) as restored:
        kept = restored.chunks_from(0, 10_000)
        assert kept[: len(before)] == before
        assert restored.verify() == []
        written_turn(restored)


def test_a_backup_never_takes_the_place_of_a_file(filled: Path, tmp_path: Path) -> None:
    letter = tmp_path / "letter.txt"
    letter.write_text("dear")
    with closing(SqliteStore(filled)) as store:
        for target in (letter, filled):
            with pytest.raises(InputError, match="already exists"):
                store.backup(target)
        with pytest.raises(StoreUnavailable, match="cannot be written"):
            store.backup(tmp_path / "nowhere" / "backup.db")
    assert letter.read_text() == "dear"


def test_a_damaged_memory_is_not_backed_up_as_if_it_were_whole(filled: Path, tmp_path: Path) -> None:
    with closing(SqliteStore(filled)) as store:
        store.reserve(1)
        with filled.open("r+b") as file:
            file.truncate(4096 * 3)
        with pytest.raises(StoreDamaged):
            store.backup(tmp_path / "backup.db")
    assert not (tmp_path / "backup.db").exists()


def test_restoring_positions_looks_up_only_what_it_needs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    statements: list[str] = []
    connect = database._connect

    def traced(*where: Any) -> sqlite3.Connection:
        connection = connect(*where)
        connection.set_trace_callback(statements.append)
        return connection

    with closing(SqliteStore(path)) as store:
        chunks = [written_turn(store)[0] for _ in range(50)]
    monkeypatch.setattr(database, "_connect", traced)
    with closing(SqliteStore(path)) as store:
        statements.clear()
        wanted = [*range(chunks[7].first_position, chunks[9].end_position), chunks[30].first_position, 10**40]
        assert len(store.tokens_by_positions(wanted)) == 16
    lookups = [statement for statement in statements if "first_position" in statement]
    assert len(lookups) <= 6
    with raw(path) as connection:
        for lookup in lookups:
            plan = " ".join(str(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN {lookup}"))
            assert "chunks_by_position" in plan
            assert "SCAN" not in plan


def test_words_of_the_index_take_no_second_copy_of_the_text(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
        written_texts(store, "unmistakable")
    with raw(path) as connection:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    assert "words_content" not in tables


def test_a_windows_own_chunks_are_found_by_an_index(path: Path) -> None:
    """Not by reading the memory, which grows without limit."""
    SqliteStore(path).close()
    key = ChunkKey(5, 0, "user")
    queries: list[str] = []
    with closing(sqlite3.connect(path)) as connection:
        connection.set_trace_callback(queries.append)
        window_chunks.preceding(connection, "w", None, 1, 1)
        window_chunks.preceding(connection, "w", key, 1, 1)
        window_chunks.following(connection, "w", key, 1, 1)
        connection.set_trace_callback(None)
        plans = [connection.execute(f"EXPLAIN QUERY PLAN {query}").fetchall() for query in queries]
    assert len(plans) == 3
    for [(*_, step)] in plans:
        assert step.startswith("SEARCH chunks USING INDEX chunks_by_window (<expr>=?"), step
