"""Many processes at once, and processes that die at any moment. HALO_TEST_FULL=1 runs the full counts."""

import json
import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest

from halo_weave.memory.sqlite.store import SqliteStore
from halo_weave.records.chunks import ChunkKey, Stored
from halo_weave.records.windows import JournalEntry
from support.workers.store_worker import CHUNKS, EMBEDDER, NEWER_EMBEDDER, TOKENS, made_up_turn, mark_of, start_worker

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="processes are killed by signals")

IS_FULL = os.environ.get("HALO_TEST_FULL") == "1"
PROCESSES = 8
TURNS = 2000 if IS_FULL else 50
KILLS = 200 if IS_FULL else 12

EMBEDDERS = {"vectors": EMBEDDER, "embed again": NEWER_EMBEDDER}

Line = dict[str, Any]


@contextmanager
def working(mode: str, path: Path, number: int) -> Iterator[Popen[str]]:
    worker = start_worker(mode, path, number)
    try:
        yield worker
    finally:
        worker.kill()
        worker.communicate()


def lines_of(text: str) -> list[Line]:
    """Return complete lines only: a killed process may leave half a line."""
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]


def test_many_processes_at_once_lose_and_double_nothing(tmp_path: Path) -> None:
    path = tmp_path / "halo.db"
    workers = [start_worker("many", path, TURNS) for _ in range(PROCESSES)]
    try:
        for worker in workers:
            assert worker.stdout is not None
            assert json.loads(worker.stdout.readline()) == {"did": "open"}
        reported = [line for output in _run_together(workers) for line in lines_of(output)]
    finally:
        for worker in workers:
            worker.kill()
            worker.communicate()
    reserved = sorted((line["start"], line["turn"]) for line in reported if line.get("did") == "reserve")
    written = sorted(line["turn"] for line in reported if line.get("did") == "write")
    assert len(reserved) == len(written) == PROCESSES * TURNS
    assert all(later[0] - earlier[0] == CHUNKS * TOKENS for earlier, later in pairwise(reserved))
    assert all(later[1] - earlier[1] == 2 for earlier, later in pairwise(reserved))
    assert written == [turn for _, turn in reserved]
    store = SqliteStore(path)
    stored = _everything(store)
    expected = [chunk for start, turn in reserved for chunk in made_up_turn(turn, start)]
    assert [one.chunk for one in stored] == expected
    assert store.verify() == []
    store.close()


def _run_together(workers: list[Popen[str]]) -> list[str]:
    """Read all outputs at once, because a worker with a full pipe would block."""
    with ThreadPoolExecutor(len(workers)) as readers:
        outputs = [output for output, _ in readers.map(lambda worker: worker.communicate("go\n"), workers)]
    assert [worker.returncode for worker in workers] == [0] * len(workers)
    return outputs


def _everything(store: SqliteStore) -> list[Stored]:
    stored: list[Stored] = []
    while batch := store.chunks_from(stored[-1].chunk.end_position if stored else 0, 1000):
        stored += batch
    return stored


class Acknowledged:
    """What the workers reported as done, and what the last one was about to do when it died.

    `embedders` are those whose vectors were put last; `notes` the last note in each journal, 0 for an empty one.
    """

    def __init__(self) -> None:
        self.starts: dict[int, int] = {}
        self.states: dict[int, str] = {}
        self.embedders: dict[int, str | None] = {}
        self.notes: dict[str, int] = {}

    def check(self, store: SqliteStore, lines: list[Line]) -> None:
        for line in lines:
            self._note(line)
        tried = [line for line in lines if "try_" in line]
        pending = tried[-1] if tried and lines[-1] == tried[-1] else None
        touched = {line["turn"] for line in lines if "turn" in line}
        for turn in touched:
            self._check_turn(store, turn, pending["try_"] if pending and pending.get("turn") == turn else None)
        for window in {line["window"] for line in lines if "window" in line}:
            self._check_journal(store, window, pending["note"] if pending and "note" in pending else None)

    def check_all(self, store: SqliteStore) -> None:
        for turn in self.starts:
            self._check_turn(store, turn, None)
        for window in self.notes:
            self._check_journal(store, window, None)

    def _note(self, line: Line) -> None:
        action, turn = line.get("did"), line.get("turn")
        if action == "note":
            self.notes[line["window"]] = line["note"]
        if turn is None or action is None:
            return
        if action == "reserve":
            assert turn not in self.starts, "a turn was given out twice"
            self.starts[turn] = line["start"]
        elif action in EMBEDDERS:
            self.embedders[turn] = EMBEDDERS[action] if self.states[turn] != "delete" else None
        else:
            if "delete" in (action, self.states.get(turn)):
                self.embedders[turn] = None
            self.states[turn] = action

    def _check_turn(self, store: SqliteStore, turn: int, pending: str | None) -> None:
        """Each turn is as acknowledged, or as the operation in progress would have left it, but never in between."""
        found = store.chunks_of_turn(turn)
        state = self.states.get(turn)
        if not found and (state == "forget" or pending == "forget"):
            self.states[turn] = "forget"
            assert not _is_in_files(store.path, mark_of(turn)), f"turn {turn} was forgotten, but is still in the file"
            return
        if not found:
            assert state is None, f"turn {turn} was acknowledged and is lost"
            return
        assert state != "forget", f"turn {turn} was forgotten and is there"
        assert state is not None or pending == "write", f"turn {turn} was never written"
        chunks = [stored.chunk for stored in found]
        expected = made_up_turn(turn, self.starts[turn])
        assert [(chunk.key, chunk.tokens(), chunk.first_position, chunk.time) for chunk in chunks] == [
            (chunk.key, chunk.tokens(), chunk.first_position, chunk.time) for chunk in expected
        ]
        (is_deleted,) = {chunk.deleted for chunk in chunks}
        (embedder,) = {chunk.embedder for chunk in chunks}
        was_deleted = state == "delete"
        assert is_deleted == was_deleted or pending == ("delete" if is_deleted else "undelete")
        assert embedder == self.embedders.get(turn) or pending in (("delete",) if embedder is None else EMBEDDERS)
        self.states[turn] = "delete" if is_deleted else "write"
        self.embedders[turn] = embedder

    def _check_journal(self, store: SqliteStore, window: str, pending: int | None) -> None:
        notes = [_notes_up_to(last) for last in (self.notes.get(window, 0), pending) if last is not None]
        found = store.journal(window)
        assert found in notes
        self.notes[window] = len(found)


def _notes_up_to(last: int) -> list[JournalEntry]:
    return [JournalEntry(1, b"%d" % note) for note in range(1, last + 1)]


def _is_in_files(path: Path, text: str) -> bool:
    return any(text.encode() in file.read_bytes() for file in path.parent.glob(f"{path.name}*"))


def test_a_killed_process_leaves_everything_it_acknowledged_and_nothing_half_done(tmp_path: Path) -> None:
    path = tmp_path / "halo.db"
    choose = random.Random(20260517)
    acknowledged = Acknowledged()
    for round_ in range(KILLS):
        lines = _lines_until_killed(path, round_, choose)
        store = SqliteStore(path)
        acknowledged.check(store, lines)
        assert store.verify() == []
        assert store.reserve(1).position_start > max(acknowledged.starts.values(), default=-1)
        store.close()
    assert acknowledged.states
    assert "forget" in acknowledged.states.values()
    store = SqliteStore(path)
    acknowledged.check_all(store)
    store.close()


def _lines_until_killed(path: Path, seed: int, choose: random.Random) -> list[Line]:
    with working("churn", path, seed) as worker:
        assert worker.stdout is not None
        opening = ""
        if seed % 5 == 0:
            time.sleep(choose.uniform(0.05, 0.6))  # perhaps while it creates or opens the memory
        else:
            opening = "".join(worker.stdout.readline() for _ in range(choose.randint(1, 40)))
            time.sleep(choose.uniform(0, 0.05))  # at any point of what it does next
        os.kill(worker.pid, signal.SIGKILL)
        # Not communicate(): it would skip what readline() has read ahead.
        return lines_of(opening + worker.stdout.read())


def test_the_journal_of_a_killed_process_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "halo.db"
    with working("many", path, 10_000) as worker:
        assert worker.stdin is not None
        assert worker.stdout is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
        lines = [json.loads(worker.stdout.readline()) for _ in range(60)]
        os.kill(worker.pid, signal.SIGKILL)
        worker.communicate()
    assert path.with_name("halo.db-wal").stat().st_size > 0
    store = SqliteStore(path)
    for line in lines:
        if line.get("did") == "write":
            assert store.chunk(ChunkKey(line["turn"], CHUNKS - 1, "user")) is not None
    assert store.verify() == []
    store.close()


def test_an_open_memory_sees_what_another_process_writes(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "halo.db")
    before = store.change_number()
    with working("many", store.path, 3) as worker:
        output, _ = worker.communicate("go\n")
    turns = [line["turn"] for line in lines_of(output) if line.get("did") == "write"]
    assert len(turns) == 3
    assert store.change_number() > before
    assert [len(store.chunks_of_turn(turn)) for turn in turns] == [CHUNKS] * 3
    assert store.reserve(1).turn_user == max(turns) + 2
    store.close()


def test_a_full_disk_is_said_and_takes_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "halo.db"
    store = SqliteStore(path)
    with working("fill", path, 300_000) as worker:
        output, _ = worker.communicate()
    lines = lines_of(output)
    assert lines[-1]["failed"] == "StoreUnavailable"
    assert "is full" in lines[-1]["message"]
    written = {line["turn"] for line in lines if line.get("did") == "write"}
    assert written
    assert all(len(store.chunks_of_turn(turn)) == CHUNKS for turn in written)
    tried = {line["turn"] for line in lines if line.get("try_") == "write"} - written
    assert all(len(store.chunks_of_turn(turn)) == 0 for turn in tried)
    assert store.verify() == []
    assert store.reserve(1).turn_user > max(written)
    store.close()
