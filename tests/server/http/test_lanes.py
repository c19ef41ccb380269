"""Slow requests of one kind do not hold up those of another."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from halo_weave.memory.sqlite.database import MOST_IDLE_READERS
from halo_weave.memory.sqlite.store import SqliteStore
from halo_weave.server.api import transfer
from halo_weave.server.http.lanes import TRANSFERS_AT_ONCE
from support.servers.served import PATIENCE_S, Served, served


@contextmanager
def exporting(one: Served, exports: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keep this many exports in progress or waiting for a thread until the block ends."""
    begun, may_end = threading.Semaphore(0), threading.Event()

    def export(_: object, path: Path, **_options: bool) -> None:
        begun.release()
        assert may_end.wait(PATIENCE_S)
        path.write_text("", encoding="utf-8")

    monkeypatch.setattr(transfer, "export_memory", export)
    with ThreadPoolExecutor(exports) as threads:
        answers = [threads.submit(one.http.get, "/api/export") for _ in range(exports)]
        try:
            for _ in range(TRANSFERS_AT_ONCE):
                assert begun.acquire(timeout=PATIENCE_S)
            yield
        finally:
            may_end.set()
        assert [answer.result().status_code for answer in answers] == [200] * exports


def test_health_and_messages_are_answered_while_all_threads_for_transfers_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(tmp_path) as one:
        window = one.new_window()
        with exporting(one, 24, monkeypatch):
            assert one.get("/healthz")["is_alive"]
            assert one.get("/api/status")["engine"]["state"] == "ready"
            assert one.get("/api/search?q=anything") == []
            assert one.say(window, "Hello")["messages"] == 1


def test_readers_that_are_not_in_use_are_closed_beyond_a_few(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "halo.db")
    all_read = threading.Barrier(MOST_IDLE_READERS + 8)

    def read() -> None:
        with store._database.reading():
            all_read.wait(PATIENCE_S)

    threads = [threading.Thread(target=read) for _ in range(all_read.parties)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    idle = store._database._idle_readers
    assert len(idle) == MOST_IDLE_READERS
    assert sum(-int(reader.execute("PRAGMA cache_size").fetchone()[0]) for reader in idle) <= 32 * 1024
    store.close()
