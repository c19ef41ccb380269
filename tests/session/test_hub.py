"""Opening, changing and deleting windows concurrently."""

import sqlite3
import threading
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import pytest

from halo_weave.engine.echo import EchoEngine
from halo_weave.engine.protocol import Engine
from halo_weave.engine.settings import EngineSettings
from halo_weave.errors import EngineUnavailable
from halo_weave.memory.sqlite.store import SqliteStore
from halo_weave.session import hub as hub_module
from halo_weave.session.actions import actions
from halo_weave.session.hub import Hub
from halo_weave.session.turn.turn import send
from halo_weave.session.window.restoring import new_window
from halo_weave.session.window.window import Window
from support.failing_stores import failing_memory
from support.servers.served import PATIENCE_S, served
from support.windows import PLAIN, SIZES, Clock, living, long_text, opened_hub


def test_a_window_that_takes_long_to_open_does_not_hold_up_another_one_and_is_opened_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_reading, may_read = threading.Event(), threading.Event()
    real = SqliteStore.window
    with opened_hub(tmp_path / "halo.db") as hub:
        slow, quick = hub.open("slow"), hub.open("quick")
        for window in (slow, quick):
            hub.close_window(window)

        def read(store: SqliteStore, window_id: str) -> Any:
            if window_id == slow.id:
                is_reading.set()
                assert may_read.wait(PATIENCE_S)
            return real(store, window_id)

        monkeypatch.setattr(SqliteStore, "window", read)
        with ThreadPoolExecutor(2) as threads:
            opening = [threads.submit(hub.open, name) for name in ("slow", slow.id)]
            assert is_reading.wait(PATIENCE_S)
            try:
                assert hub.open("quick").name == "quick"
                assert {window.name for window in hub.open_windows()} == {"quick"}
            finally:
                may_read.set()
            first, second = (one.result() for one in opening)
        assert first is second


def test_a_window_that_is_found_while_it_is_begun_is_not_opened_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The window is in the memory, where others find it, before the hub knows it."""
    others: list[Future[Window]] = []
    with opened_hub(tmp_path / "halo.db") as hub, ThreadPoolExecutor(1) as threads:

        def begun(*arguments: Any, **more: Any) -> Window:
            window = new_window(*arguments, **more)
            others.append(threads.submit(hub.open, "river"))
            wait(others, timeout=0.5)  # by then it is either open or waits for this one
            return window

        monkeypatch.setattr(hub_module, "new_window", begun)
        window = hub.open("river")
        assert others[0].result() is window


def test_two_threads_that_begin_a_window_of_one_name_get_the_same(tmp_path: Path) -> None:
    with opened_hub(tmp_path / "halo.db") as hub, ThreadPoolExecutor(4) as threads:
        opened = list(threads.map(hub.open, ["river"] * 8))
        assert len(set(map(id, opened))) == 1
        assert len(hub.windows()) == 1


@pytest.mark.parametrize("is_merged", [False, True])
def test_opening_a_window_takes_as_many_reads_however_much_lives_in_it(tmp_path: Path, is_merged: bool) -> None:
    calls = []
    for paragraphs in (2, 12):
        with failing_memory(tmp_path / f"{paragraphs}.db") as (memory, store):
            hub = Hub(EchoEngine([long_text(paragraphs)] * 3), memory, PLAIN, SIZES, Clock())
            window = hub.open("river")
            for _ in range(3):
                send(window, long_text(paragraphs))
            if is_merged:
                actions.merge(window, next(key for key, _ in living(window) if key.index == 1))
            lived = living(window)
            hub.close_window(window)
            store.watch()
            assert living(hub.open("river")) == lived
            calls.append(list(store.calls))
            store.relent()
    assert calls[0] == calls[1]


def damage(path: Path, window: str) -> None:
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("UPDATE windows SET state = x'00' WHERE id = ?", (window,))
    connection.close()


def test_a_damaged_window_can_be_deleted(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        window = server.new_window()
        server.post(f"/api/windows/{window}/close")
        damage(tmp_path / "halo.db", window)
        assert not server.http.get(f"/api/windows/{window}").is_success
        server.call("DELETE", f"/api/windows/{window}")
        assert server.get("/api/windows") == []
        assert "There is no window" in server.call("DELETE", f"/api/windows/{window}", status=404)["error"]


def test_a_window_can_be_deleted_while_the_model_is_away(tmp_path: Path) -> None:
    def away(_: EngineSettings) -> Engine:
        raise EngineUnavailable("The model is away.")

    with served(tmp_path) as server:
        window = server.new_window()
        server.say(window, "How long is the river?")
    with served(tmp_path, open_engine=away, waits=False) as server:
        assert [one["id"] for one in server.get("/api/windows")] == [window]
        server.call("DELETE", f"/api/windows/{window}")
        assert server.get("/api/windows") == []
        assert server.program.memory.stats().chunks


@pytest.mark.parametrize(
    "change",
    [
        {"overrides": {"generation.max_tokens": 5}, "name": "sea"},
        {"overrides": {"generation.max_tokens": 5}, "name": " "},
        {"overrides": {"generation.max_tokens": -5}, "name": "brook"},
    ],
)
def test_a_change_of_a_window_that_is_refused_in_part_changes_nothing(tmp_path: Path, change: dict[str, Any]) -> None:
    with served(tmp_path) as server:
        window, _ = server.new_window("river"), server.new_window("sea")
        before = server.get(f"/api/windows/{window}")
        assert server.call("PATCH", f"/api/windows/{window}", change, status=400)["error"]
        assert server.get(f"/api/windows/{window}") == before
        good = {"overrides": {"generation.max_tokens": 5}, "name": "brook"}
        after = server.call("PATCH", f"/api/windows/{window}", good)
        assert (after["overrides"], after["name"]) == (good["overrides"], "brook")


def test_a_change_of_a_window_is_described_as_putting_its_settings_in_the_place_of_all_it_had(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        described = server.http.get("/openapi.json").json()
        assert "replaces the previous ones" in described["components"]["schemas"]["WindowChange"]["description"]
        window = server.new_window()
        for overrides in ({"generation.max_tokens": 5}, {"generation.temperature": 0.5}):
            state = server.call("PATCH", f"/api/windows/{window}", {"overrides": overrides})
            assert state["overrides"] == overrides
