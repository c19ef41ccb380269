"""Events for tabs: each arrives once and in order, whatever happens to the connections."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from websockets.asyncio.client import connect as async_connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from halo_weave.engine.echo import EchoEngine
from halo_weave.engine.protocol import Engine
from halo_weave.engine.settings import EngineSettings
from halo_weave.server.api import status
from halo_weave.server.live import websocket
from halo_weave.server.live.websocket import CLOSED, GOING_AWAY, MOST_BEHIND, TOO_MANY, UNKNOWN
from halo_weave.server.runtime.feed import Feed
from halo_weave.server.runtime.program import Program
from support.servers.served import PATIENCE_S, Served, Tab, received, served, until


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("shared"), step_seconds=0.004) as one:
        yield one


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path) as one:
        yield one


@settings(max_examples=12)
@given(drops=st.lists(st.integers(0, 4), max_size=8), number=st.integers(0, 2**60))
def test_a_tab_that_loses_its_connection_misses_nothing_and_hears_nothing_twice(
    shared: Served, drops: list[int], number: int
) -> None:
    """The connection is dropped after this many messages, again and again, in the middle of a reply."""
    window = shared.new_window(f"drops {number} {shared.http.get('/api/windows').text.count('id')}")
    tab = Tab(shared, window)
    with tab.connected() as socket:
        tab.follow_until(socket, lambda: tab.states)
    first = tab.seen
    assert first is not None
    shared.post(f"/api/windows/{window}/messages", {"text": "a few words that are said again"}, status=202)
    for messages in drops:
        with tab.connected() as socket:
            for _ in range(messages):
                if not tab.is_idle:
                    tab.take(received(socket))
    with tab.connected() as socket:
        tab.follow_until(socket, lambda: tab.is_idle)
    assert tab.states == 1
    assert [event["number"] for event in tab.events] == list(range(first + 1, first + 1 + len(tab.events)))
    tokens = "".join(event["data"]["text"] for event in tab.events if event["kind"] == "token")
    (reply,) = (event["data"] for event in tab.events if event["kind"] == "reply")
    assert tokens == "".join(piece for chunk in reply["chunks"] for piece in chunk["pieces"])
    shared.post(f"/api/windows/{window}/close")


def test_a_state_in_mid_reply_and_the_events_after_it_give_the_whole_reply(shared: Served) -> None:
    window = shared.new_window("mid-reply")
    shared.post(f"/api/windows/{window}/messages", {"text": "what is repeated " * 8}, status=202)
    until(lambda: shared.program.window(window).writing)
    tab = Tab(shared, window)
    with tab.connected() as socket:
        tab.follow_until(socket, lambda: tab.has("reply"))
    assert tab.state["doing"]
    assert tab.state["writing_turn"] == tab.state["newest"]["turn_assistant"]
    later = [event["data"]["text"] for event in tab.events if event["kind"] == "token"]
    (reply,) = (event["data"] for event in tab.events if event["kind"] == "reply")
    whole = "".join(piece for chunk in reply["chunks"] for piece in chunk["pieces"])
    assert "".join([*tab.state["writing"], *later]) == whole


def test_two_tabs_see_the_same(shared: Served) -> None:
    window = shared.new_window("two tabs")
    one, other = Tab(shared, window), Tab(shared, window)
    with one.connected() as first, other.connected() as second:
        one.follow_until(first, lambda: one.states)
        other.follow_until(second, lambda: other.states)
        shared.post(f"/api/windows/{window}/messages", {"text": "hello"}, status=202)
        one.follow_until(first, lambda: one.is_idle)
        other.follow_until(second, lambda: other.is_idle)
    assert one.state == other.state
    assert one.events == other.events


def test_a_slow_tab_gets_a_fresh_state_instead_of_an_endless_queue(server: Served) -> None:
    window = server.new_window()
    log, long = server.program.window(window).log, "x" * 50_000
    tab = Tab(server, window)
    with tab.connected() as socket:
        tab.follow_until(socket, lambda: tab.states)
        for _ in range(4000):  # far more than the connection buffers, while the tab does not read
            log.tell("notice", text=long)
        feed = server.program.feed(server.program.window(window))
        tab.follow_until(socket, lambda: tab.seen == feed.last_number)
    assert tab.states > 1
    assert len(tab.events) < 4000


def test_a_tab_that_was_away_too_long_gets_a_fresh_state(server: Served) -> None:
    window = server.new_window()
    tab = Tab(server, window)
    with tab.connected() as socket:
        tab.follow_until(socket, lambda: tab.states)
    for _ in range(MOST_BEHIND + 1):
        server.program.window(window).log.tell("notice", text="something")
    with tab.connected() as socket:
        tab.take(received(socket))
    assert tab.states == 2


def test_a_tab_that_missed_nothing_is_told_so(server: Served) -> None:
    window = server.new_window()
    tab = Tab(server, window)
    with tab.connected() as socket:
        tab.follow_until(socket, lambda: tab.states)
    with tab.connected() as socket:
        assert received(socket) == {"events": []}


@pytest.mark.parametrize("since", ["0", "999999999999999999", "-1", "abc", "9" * 400])
def test_a_number_that_never_was_gives_a_fresh_state(server: Served, since: str) -> None:
    window = server.new_window()
    with server.socket(f"/api/windows/{window}/events?since={since}") as socket:
        assert received(socket)["state"]["id"] == window


def test_a_tab_that_is_behind_cannot_change_anything(server: Served) -> None:
    """It may again once it has seen the change."""
    window = server.new_window()
    seen = server.get(f"/api/windows/{window}")["event"]
    server.say(window, "from another tab")
    behind = {"X-Halo-Seen": str(seen)}
    before = server.get(f"/api/windows/{window}")
    for path, body in [
        ("messages", {"text": "hello"}),
        ("regenerate", None),
        ("chunks/1.0.user/delete", None),
        ("chunks/1.0.user/pin", None),
        ("edit", {"turn": "1", "text": "x"}),
    ]:
        answer = server.post(f"/api/windows/{window}/{path}", body, headers=behind, status=409)
        assert "out of date" in answer["error"]
    server.call("DELETE", f"/api/windows/{window}", headers=behind, status=409)
    assert server.get(f"/api/windows/{window}") == before
    server.post(f"/api/windows/{window}/chunks/1.0.user/pin", headers={"X-Halo-Seen": str(before["event"])})


def test_numbers_of_an_earlier_life_of_the_program_give_a_fresh_state(tmp_path: Path) -> None:
    """After a restart the content is the same, and no tab mistakes new events for those of the earlier run."""
    with served(tmp_path) as one:
        window = one.new_window()
        before = one.say(window, "to be kept")
    with served(tmp_path) as one, one.socket(f"/api/windows/{window}/events?since={before['event']}") as socket:
        state = received(socket)["state"]
        assert state["event"] > before["event"]
        assert [chunk["pieces"] for chunk in state["chunks"]] == [chunk["pieces"] for chunk in before["chunks"]]
        one.post(
            f"/api/windows/{window}/messages",
            {"text": "x"},
            headers={"X-Halo-Seen": str(before["event"])},
            status=409,
        )


def test_a_closed_window_ends_its_sockets(server: Served) -> None:
    window = server.new_window()
    tab = Tab(server, window)
    with tab.connected() as socket:
        tab.follow_until(socket, lambda: tab.states)
        server.post(f"/api/windows/{window}/close")
        with pytest.raises(ConnectionClosed) as ending:
            tab.follow_until(socket, lambda: False)
    assert tab.has("closed")
    assert ending.value.rcvd is not None
    assert ending.value.rcvd.code == CLOSED


def test_a_program_that_ends_does_not_say_that_the_window_was_closed(server: Served) -> None:
    window = server.new_window()
    tab = Tab(server, window)
    with tab.connected() as socket:
        tab.follow_until(socket, lambda: tab.states)
        server.program.close()
        with pytest.raises(ConnectionClosed) as ending:
            tab.follow_until(socket, lambda: False)
    assert ending.value.rcvd is not None
    assert ending.value.rcvd.code == GOING_AWAY
    with tab.connected() as socket, pytest.raises(ConnectionClosed) as ending:
        received(socket)
    assert ending.value.rcvd is not None
    assert ending.value.rcvd.code == GOING_AWAY
    assert not server.program.open_windows()


def test_a_window_that_is_not_there_ends_the_socket(server: Served) -> None:
    with server.socket("/api/windows/nothing/events") as socket, pytest.raises(ConnectionClosed) as ending:
        received(socket)
    assert ending.value.rcvd is not None
    assert ending.value.rcvd.code == UNKNOWN


def test_connections_beyond_the_most_are_refused_until_others_end(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(websocket, "MOST_SOCKETS", 2)
    path = f"/api/windows/{server.new_window()}/events"
    with server.socket(path) as first, server.socket("/api/events") as second:
        assert received(first)["state"]
        assert received(second)["state"]
        with server.socket(path) as refused, pytest.raises(ConnectionClosed) as ended:
            refused.recv(PATIENCE_S)
        assert ended.value.rcvd is not None
        assert (ended.value.rcvd.code, ended.value.rcvd.reason) == (
            TOO_MANY,
            "2 connections are already open; close some tabs",
        )

    def is_let_in() -> bool:
        with server.socket(path) as socket:
            try:
                return "state" in received(socket)
            except ConnectionClosed:
                return False

    until(is_let_in)


def test_a_message_to_the_server_that_is_too_large_ends_the_socket(server: Served) -> None:
    window = server.new_window()
    with server.socket(f"/api/windows/{window}/events") as socket:
        received(socket)
        socket.send("x" * 1_000_000)
        with pytest.raises(ConnectionClosed) as ending:
            received(socket)
    assert ending.value.rcvd is not None
    assert ending.value.rcvd.code == 1009


def test_the_page_opens_before_the_model_is_loaded(tmp_path: Path) -> None:
    """Everything but windows answers, and a waiting socket gets its state once the model is loaded."""
    with served(tmp_path) as one:
        window = one.new_window()
    is_loaded = threading.Event()

    def slow(_: EngineSettings) -> Engine:
        assert is_loaded.wait(PATIENCE_S)
        return EchoEngine()

    with served(tmp_path, open_engine=slow, waits=False) as one:
        assert one.get("/api/status")["engine"]["state"] == "loading"
        assert one.get("/api/windows")[0]["id"] == window
        assert one.http.get("/readyz").status_code == 503
        assert one.http.get("/").status_code == 200
        assert "loading" in one.get(f"/api/windows/{window}", status=503)["error"]
        with one.socket(f"/api/windows/{window}/events") as socket, one.socket("/api/events") as news:
            assert received(news)["state"]["status"]["engine"]["state"] == "loading"
            is_loaded.set()
            assert received(socket)["state"]["id"] == window
            states = []
            while "ready" not in states:
                events = received(news)["events"]
                states += [event["data"]["engine"]["state"] for event in events if event["kind"] == "status"]


def test_news_of_the_program_tell_of_windows_and_jobs(server: Served) -> None:
    with server.socket("/api/events") as news:
        state = received(news)["state"]
        assert (state["windows"], state["jobs"]) == ([], [])
        server.new_window("seen from afar")
        names: list[str] = []
        while names != ["seen from afar"]:
            for event in received(news)["events"]:
                if event["kind"] == "windows":
                    names = [entry["name"] for entry in event["data"]]
        server.post("/api/reembed", status=202)
        states: list[str] = []
        while "done" not in states:
            states += [
                job["state"] for event in received(news)["events"] if event["kind"] == "jobs" for job in event["data"]
            ]


@pytest.mark.parametrize("error", [RuntimeError("a mistake"), OSError("a broken disk")])
def test_an_unexpected_error_is_logged_and_ends_the_socket_with_1011(
    server: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    def fail(_: Feed, __: int) -> None:
        raise error

    window = server.new_window()
    with server.socket(f"/api/windows/{window}/events") as socket:
        received(socket)
        monkeypatch.setattr(Feed, "since", fail)
        server.program.window(window).log.tell("notice", text="look")
        with pytest.raises(ConnectionClosed) as ending:
            received(socket)
    assert ending.value.rcvd is not None
    assert ending.value.rcvd.code == 1011
    until(lambda: str(error) in caplog.text)


def test_a_tab_that_goes_while_it_is_being_told_something_is_not_worth_a_word(
    server: Served, caplog: pytest.LogCaptureFixture
) -> None:
    window = server.new_window()
    feed = server.program.feed(server.program.window(window))
    for _ in range(5):
        with server.socket(f"/api/windows/{window}/events") as tab:
            received(tab)
            for _ in range(50):
                feed.window.log.tell("notice", text="x" * 10_000)
            tab.socket.shutdown(socket.SHUT_RDWR)  # without a closing handshake
    until(lambda: not len(feed.notifier))
    assert "failed" not in caplog.text


def test_status_is_computed_once_for_all_sockets(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[Program] = []
    compute = status.status

    def counted(program: Program) -> object:
        computed.append(program)
        return compute(program)

    def tell_all() -> None:
        server.program.broadcast.tell("status")
        told = server.program.broadcast.number
        for socket in sockets:
            while received(socket)["events"][-1]["number"] < told:
                pass

    with ExitStack() as stack:
        sockets = [stack.enter_context(server.socket("/api/events")) for _ in range(12)]
        for socket in sockets:
            assert "state" in received(socket)
        tell_all()  # after this, no notice from earlier work is pending
        monkeypatch.setattr(status, "status", counted)
        for times in range(1, 4):
            tell_all()
            assert len(computed) == times


def test_two_hundred_windows_can_each_have_a_tab(server: Served) -> None:
    """Each tab has a socket for its window and one for the program."""
    windows = [server.new_window(f"window {number}") for number in range(200)]
    paths = [*(f"/api/windows/{window}/events" for window in windows), *["/api/events"] * 200]

    async def connect_all() -> int:
        async with AsyncExitStack() as stack:
            sockets = [
                await stack.enter_async_context(
                    async_connect(server.address.replace("http", "ws") + path, max_size=None, proxy=None)
                )
                for path in paths
            ]
            return sum(["state" in msgspec.json.decode(await socket.recv()) for socket in sockets])

    assert asyncio.run(connect_all()) == 400


def test_a_socket_of_another_site_is_refused(server: Served) -> None:
    with pytest.raises(InvalidStatus) as refusal, server.socket("/api/events", origin="http://evil.example"):
        pass
    assert refusal.value.response.status_code == 403
