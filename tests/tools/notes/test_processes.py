"""The notes of one memory in several processes at once, and in processes that die at any moment."""

import json
import os
import random
import signal
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from halo_weave.memory.sqlite.store import SqliteStore
from support.workers.notes_worker import start_worker

KILLS = 60 if os.environ.get("HALO_TEST_FULL") == "1" else 6
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="processes are killed by signals")


def test_processes_that_write_at_once_lose_nothing_of_each_other(tmp_path: Path) -> None:
    path, patches = tmp_path / "halo.db", 12
    names = ["ann", "bob", "cid"]
    workers = [start_worker(path, name, patches) for name in names]
    try:
        for worker in workers:
            assert worker.stdout is not None
            assert worker.stdout.readline() == '"ready"\n'
        for worker in workers:
            assert worker.stdin is not None
            worker.stdin.write("go\n")
            worker.stdin.flush()
        said = [json.loads(line) for worker in workers for line in worker.communicate()[0].splitlines()]
    finally:
        for worker in workers:
            worker.kill()
            worker.communicate()
    assert sorted(version for version, _ in said) == list(range(1, len(names) * patches + 1))
    with closing(SqliteStore(path)) as store:
        document = json.loads(store.notes().document)
        assert document["scratch"] == dict.fromkeys(names, patches - 1)
        for name in names:
            own = [entry for entry in document["reminders"] if entry.startswith(name)]
            assert own == [f"{name} {number}" for number in range(patches)]
        assert store.verify() == []


def test_a_killed_process_leaves_every_version_it_acknowledged_and_none_half_written(tmp_path: Path) -> None:
    path, choose = tmp_path / "halo.db", random.Random(20261116)
    acknowledged = 0
    for round_ in range(KILLS):
        with start_worker(path, f"w{round_}", 10_000) as worker:
            assert worker.stdin is not None
            assert worker.stdout is not None
            worker.stdout.readline()
            worker.stdin.write("go\n")
            worker.stdin.flush()
            first = worker.stdout.readline()
            time.sleep(choose.uniform(0, 0.2))
            os.kill(worker.pid, signal.SIGKILL)
            lines = (first + worker.stdout.read()).splitlines(keepends=True)
        versions = [json.loads(line)[0] for line in lines if line.endswith("\n")]
        assert versions[0] in (acknowledged + 1, acknowledged + 2), "One may have been written and not said."
        acknowledged = versions[-1]
        with closing(SqliteStore(path)) as store:
            newest = store.notes()
            assert newest.version in (acknowledged, acknowledged + 1)
            assert len(json.loads(newest.document)["reminders"]) == newest.version
            assert store.verify() == []
