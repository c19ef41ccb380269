"""One model, many windows: replies run one after another, in a fair order that windows are told."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from halo_weave.engine.cancellation import Cancellation
from halo_weave.engine.protocol import GenerationSettings, Placed
from halo_weave.errors import EngineStopped, InputError, WindowBusy
from halo_weave.server.runtime.turn_queue import TurnQueue
from halo_weave.session.turn.turn import send
from halo_weave.session.window.window import Window
from support.servers.served import PATIENCE_S, Served, served, until
from support.waiting_engine import WaitingEngine
from support.windows import opened_hub

SHORT = GenerationSettings(temperature=0, max_tokens=9)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with served(tmp_path) as one:
        yield one


class Gate:
    """Work that continues only when it is released."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.may_end = threading.Event()

    def __call__(self, _: Cancellation) -> None:
        self.begun.set()
        assert self.may_end.wait(PATIENCE_S)


def windows(server: Served, count: int) -> list[Window]:
    return [server.program.window(server.new_window(f"window {number}")) for number in range(count)]


def places(window: Window) -> list[int | None]:
    return [event.data["place"] for event in window.log.since(0) or () if event.kind == "queue"]


def told(window: Window) -> list[tuple[str, object]]:
    named = {"queue": "place", "status": "text"}
    return [(e.kind, e.data[named[e.kind]]) for e in window.log.since(0) or () if e.kind in named]


def test_windows_take_turns_and_are_told_their_place(server: Served) -> None:
    """A window that was just answered queues behind all others."""
    first, second, third = windows(server, 3)
    turns, gate, order = server.program.turns, Gate(), list[str]()

    def named(name: str) -> Callable[[Cancellation], None]:
        return lambda _: order.append(name)

    assert turns.submit(first, gate) == 0
    assert gate.begun.wait(PATIENCE_S)
    assert turns.submit(second, named("second")) == 1
    assert turns.submit(third, named("third")) == 2
    assert turns.place(third) == 2
    assert server.get(f"/api/windows/{third.id}")["queue"] == 2
    with pytest.raises(WindowBusy):
        turns.submit(first, named("first"))
    gate.may_end.set()
    until(lambda: not turns.is_busy(first))
    turns.submit(first, named("first"))
    until(lambda: len(order) == 3)
    assert order == ["second", "third", "first"]
    assert places(third)[0] == 2
    assert places(third)[-1] is None
    assert places(second)[-1] is None


def test_a_place_can_be_given_up(server: Served) -> None:
    first, second, third = windows(server, 3)
    turns, gate = server.program.turns, Gate()
    turns.submit(first, gate)
    turns.submit(second, lambda _: pytest.fail("It was given up."))
    turns.submit(third, lambda _: None)
    server.post(f"/api/windows/{second.id}/stop", status=202)
    assert places(second)[-1] is None
    assert turns.place(third) == 1
    gate.may_end.set()
    until(lambda: not turns.is_busy(third))


def test_a_window_whose_turn_has_come_says_so_before_it_leaves_the_queue_and_tells_its_end_last(server: Served) -> None:
    first, second = windows(server, 2)
    turns, gate = server.program.turns, Gate()
    turns.submit(first, gate)
    turns.submit(second, lambda _: None)
    gate.may_end.set()
    until(lambda: not turns.is_busy(second))
    until(lambda: told(second)[-1] == ("status", ""))
    assert told(second)[0] == ("queue", 1)
    assert told(second)[-3:] == [("status", "beginning"), ("queue", None), ("status", "")]


def test_a_moment_s_work_that_is_no_turn_is_not_told_as_one(server: Served) -> None:
    """Its end is not announced, so a page that took it for a turn would wait for ever."""
    (window,) = windows(server, 1)
    with window.working("pinning"):
        assert server.get(f"/api/windows/{window.id}")["doing"] == ""
    gate = Gate()

    def answer(cancellation: Cancellation) -> None:
        with window.working("answering", cancellation):
            gate(cancellation)

    server.program.turns.submit(window, answer)
    assert gate.begun.wait(PATIENCE_S)
    assert server.get(f"/api/windows/{window.id}")["doing"] == "answering"
    gate.may_end.set()
    until(lambda: not server.program.turns.is_busy(window))


def test_a_stop_ends_the_reply_and_keeps_what_came(tmp_path: Path) -> None:
    with served(tmp_path, replies=["many words " * 200], step_seconds=0.01) as one:
        window = one.new_window()
        one.post(f"/api/windows/{window}/messages", {"text": "go on"}, status=202)
        until(lambda: len(one.program.window(window).writing) > 3)
        one.post(f"/api/windows/{window}/stop", status=202)
        state = one.settled(window)
        assert state["chunks"][-1]["marks"]["ending"] == "stopped"
        assert state["chunks"][-1]["key"]["role"] == "assistant"


def test_a_stop_that_comes_at_once_is_not_forgotten(tmp_path: Path) -> None:
    with served(tmp_path, open_engine=lambda _: WaitingEngine()) as one:
        window = one.new_window()
        one.post(f"/api/windows/{window}/messages", {"text": "go on"}, status=202)
        one.post(f"/api/windows/{window}/stop", status=202)
        assert len(one.settled(window)["chunks"]) <= 2


def test_two_messages_at_once_are_one_too_many(tmp_path: Path) -> None:
    with served(tmp_path, step_seconds=0.01) as one:
        window = one.new_window()
        one.post(f"/api/windows/{window}/messages", {"text": "first " * 20}, status=202)
        assert "in progress" in one.post(f"/api/windows/{window}/messages", {"text": "second"}, status=409)["error"]
        one.post(f"/api/windows/{window}/stop", status=202)
        one.settled(window)


def test_what_fails_in_a_turn_is_told_in_its_window(server: Served) -> None:
    (window,) = windows(server, 1)

    def refuse(_: Cancellation) -> None:
        raise InputError("It cannot be done.")

    def break_down(_: Cancellation) -> None:
        raise ZeroDivisionError

    for work in (refuse, break_down):
        server.program.turns.submit(window, work)
        until(lambda: not server.program.turns.is_busy(window))
    errors = [event.data["text"] for event in window.log.since(0) or () if event.kind == "error"]
    assert errors[0] == "It cannot be done."
    assert "ZeroDivisionError" in errors[1]
    assert server.say(window.id, "and it goes on")["chunks"]


def test_two_windows_share_one_memory(server: Served) -> None:
    """What one window buried returns in the other."""
    one, other = server.new_window("one"), server.new_window("other")
    server.say(one, "The pelican lives in Lisbon")
    state = server.say(other, "Is it true that the pelican lives in Lisbon?")
    assert any(chunk["returned"] for chunk in state["chunks"])


def test_an_unexpected_failure_between_turns_is_counted_and_takes_no_later_turn_with_it(
    server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    (window,) = windows(server, 1)
    turns, done = server.program.turns, threading.Event()
    failures = iter([ValueError("unexpected")])

    def tell_places() -> None:
        for error in failures:
            raise error

    monkeypatch.setattr(turns, "_tell_places", tell_places)
    turns.submit(window, lambda _: None)
    until(lambda: not turns.is_busy(window))
    turns.submit(window, lambda _: done.set())
    assert done.wait(PATIENCE_S)
    assert 'halo_background_failures_total{thread="turns"}' in server.get("/metrics").text


def test_a_stop_is_not_lost_however_it_meets_its_turn(tmp_path: Path) -> None:
    """A stopped turn either never began, or every later engine call saw the stop."""
    prompt = [Placed(position, 97) for position in range(3)]
    with opened_hub(tmp_path / "halo.db", WaitingEngine()) as hub:
        window, context = hub.open("river"), hub.engine.open_context()
        turns = TurnQueue(lambda: None, lambda _: None)
        endings: list[str | None] = []

        def work(cancellation: Cancellation) -> None:
            has_begun.set()
            try:
                context.sync(prompt, cancellation=cancellation)
                endings.append(list(context.generate(SHORT, cancellation=cancellation))[-1].finish_reason)
            except EngineStopped:
                endings.append("stopped")

        for number in range(1000):
            has_begun = threading.Event()
            turns.submit(window, work)
            if number % 2:
                assert has_begun.wait(PATIENCE_S)
            turns.stop(window)
            assert turns.wait_until_over(window, PATIENCE_S)
        turns.close()
    assert set(endings) == {"stopped"}
    assert len(endings) >= 500


def test_a_message_that_is_stopped_at_once_is_not_sent_or_has_a_stopped_reply(tmp_path: Path) -> None:
    with opened_hub(tmp_path / "halo.db", WaitingEngine()) as hub:
        window = hub.open("river")
        turns = TurnQueue(lambda: None, lambda _: None)
        endings: list[str] = []

        def work(cancellation: Cancellation) -> None:
            has_begun.set()
            endings.append(send(window, "Hi.", cancellation=cancellation).ending)

        for number in range(200):
            has_begun = threading.Event()
            turns.submit(window, work)
            if number % 2:
                assert has_begun.wait(PATIENCE_S)
            turns.stop(window)
            assert turns.wait_until_over(window, PATIENCE_S)
            assert window.doing == ""
        assert window.messages == len(endings)
        assert set(endings) == {"stopped"}
        turns.submit(window, work)
        until(lambda: bool(window.writing))
        turns.close()
        assert endings[-1] == "stopped"
