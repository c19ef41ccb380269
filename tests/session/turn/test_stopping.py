"""A stop is never lost, at any step of a turn."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from halo_weave.engine.cancellation import Cancellation
from halo_weave.engine.echo import EchoEngine
from halo_weave.session.actions import actions, reflection
from halo_weave.session.actions.reflection import Reflecting
from halo_weave.session.hub import Hub
from halo_weave.session.turn import tool_rounds
from halo_weave.session.turn.turn import continue_reply, send
from halo_weave.session.turn.turn_state import Reply
from halo_weave.session.window.events import Event
from halo_weave.session.window.window import Window
from support.tool_windows import by_tools, events, hub_with_tools, tools
from support.waiting_engine import PATIENCE_S, WaitingEngine
from support.windows import PLAIN, Clock, opened_hub, stored_text, weave, with_section

CALL = "Look: <tool>list_memory()</tool>"
QUESTION = "What is in the memory?"
SEARCHING = with_section(weave(PLAIN, resurrection=True), "preview", is_on=True)


class CallingEngine(EchoEngine):
    """Calls a tool in each turn, and ends the turn once it has the result."""

    def next_reply(self, token_ids: Sequence[int]) -> str:
        begun = self.detokenize(token_ids).rpartition("<|im_start|>assistant")[2]
        return " Nothing." if "⚙️" in begun else CALL


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    with hub_with_tools(tmp_path / "halo.db", settings=SEARCHING, engine=CallingEngine()) as hub:
        yield hub


def cancelled() -> Cancellation:
    cancellation = Cancellation()
    cancellation.cancel()
    return cancellation


def steps_of(window: Window) -> list[tuple[str, str]]:
    """Return the events of a turn, without those that depend on the clock."""
    told = [event for event in window.log.since(0) or [] if event.kind != "brightness"]
    return [(event.kind, str(event.data.get("text", ""))) for event in told]


def stop_at(window: Window, step: int) -> None:
    """Stop after this many steps have been reported."""
    count = 0

    def hear(event: Event) -> None:
        nonlocal count
        if event.kind != "brightness":
            if count == step:
                window.stop()
            count += 1

    window.log.listen(hear)


def test_a_stop_at_any_step_of_a_turn_leaves_the_message_and_a_stopped_reply(tmp_path: Path, hub: Hub) -> None:
    """Searching, writing the message, reading, each token, calling a tool, its result, reading and writing again."""
    whole = hub.open("main")
    assert send(whole, QUESTION).ending == "end"
    steps = steps_of(whole)
    kinds = [kind for kind, _ in steps]
    assert ("status", "searching the memory") in steps
    assert ("status", "calling a tool") in steps
    assert kinds.count("tool") == kinds.count("written") == 1
    for step in range(kinds.index("reply")):
        path = tmp_path / f"{step}.db"
        with hub_with_tools(path, settings=SEARCHING, engine=CallingEngine()) as stopping:
            window = stopping.open("main")
            stop_at(window, step)
            reply = send(window, QUESTION)
            assert reply.ending == "stopped", steps[step]
            assert steps_of(window)[: step + 1] == steps[: step + 1]
            assert stored_text(window.memory, reply.turn - 1) == QUESTION
            assert stored_text(window.memory, reply.turn) == reply.text
            assert window.doing == ""
            has_called = "tool" in kinds[: step + 1] or steps[step] == ("status", "calling a tool")
            assert len(events(window, "tool")) == has_called
            assert continue_reply(window).ending == "end"


@pytest.mark.parametrize(
    "say",
    [
        lambda window, **options: send(window, QUESTION, **options),
        continue_reply,
        actions.regenerate,
        lambda window, **options: actions.edit_question(window, window.newest.turn_user, "Other words?", **options),
        reflection.reflect,
    ],
    ids=["send", "continue", "regenerate", "edit", "reflect"],
)
def test_what_is_cancelled_before_it_begins_asks_neither_memory_nor_model_nor_tools(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, say: Callable[..., Reply]
) -> None:
    window = hub.open("main")
    send(window, QUESTION)
    called = len(by_tools(window))
    monkeypatch.setattr(window.memory, "recollect", lambda *_, **__: pytest.fail("The memory was searched."))
    monkeypatch.setattr(window.engine_context, "sync", lambda *_, **__: pytest.fail("The model has read."))
    reply = say(window, cancellation=cancelled())
    assert (reply.text, reply.ending) == ("", "stopped")
    assert len(by_tools(window)) <= called
    monkeypatch.undo()
    assert send(window, "Go on.").ending == "end"


def test_what_is_found_after_a_stop_does_not_return(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened_hub(tmp_path / "halo.db", settings=weave(resurrection=True)) as hub:
        send(hub.open("one"), "The pelican lives in Lisbon.")
        window = hub.open("other")
        recollect = window.memory.recollect

        def stopped_search(*arguments: Any, **options: Any) -> Any:
            found = recollect(*arguments, **options)
            assert found.hits
            window.stop()
            return found

        monkeypatch.setattr(window.memory, "recollect", stopped_search)
        assert send(window, "Where does the pelican live?").ending == "stopped"
        assert [chunk.text for chunk in window.life.context] == ["Where does the pelican live?"]


def test_a_stop_ends_a_tool_call_under_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for the tool, however long it takes, and the reply is kept up to the call."""
    monkeypatch.setattr(tool_rounds, "CALL_TIMEOUT_S", 600.0)
    settings = tools(SEARCHING)
    with hub_with_tools(tmp_path / "halo.db", settings=settings, engine=CallingEngine()) as hub:
        window, may_end = hub.open("main"), threading.Event()
        assert window.toolbox is not None

        def hang(*_: object) -> None:
            window.stop()
            may_end.wait(PATIENCE_S)

        monkeypatch.setattr(window.toolbox, "call", hang)
        reply = send(window, QUESTION)
        assert not may_end.is_set()
        may_end.set()
        assert reply.ending == "stopped"
        assert "❌ stopped" in by_tools(window)[0].text


def test_a_stop_belongs_to_the_work_under_way_and_not_to_the_next(tmp_path: Path) -> None:
    with opened_hub(tmp_path / "halo.db") as hub:
        window = hub.open("river")
        with window.working("being tested") as first:
            window.stop()
            assert first.is_cancelled
        window.stop()
        with window.working("being tested") as second:
            assert not second.is_cancelled
        given = Cancellation()
        with window.working("being tested", given) as third:
            assert third is given


def answering(hub: Hub, name: str) -> tuple[Window, threading.Event]:
    """Return a window that is answering, and an event that is set once it has written a token."""
    window, has_begun = hub.open(name), threading.Event()
    window.log.listen(lambda event: has_begun.set() if event.kind == "token" else None)
    return window, has_begun


def test_closing_the_hub_stops_a_reply_that_would_never_end(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as threads:
        with opened_hub(tmp_path / "halo.db", WaitingEngine()) as hub:
            window, has_begun = answering(hub, "river")
            replying = threads.submit(send, window, "Hello.")
            assert has_begun.wait(PATIENCE_S)
        assert replying.result(PATIENCE_S).ending == "stopped"


def test_whoever_ends_reflection_ends_a_summary_that_would_never_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reflection, "_LOOK_EVERY_S", 0.01)
    monkeypatch.setattr(reflection, "AFTER_MESSAGES", 1)
    settings = with_section(PLAIN, "reflection", is_on=True, after_minutes=30.0)
    clock = Clock()
    with opened_hub(tmp_path / "halo.db", WaitingEngine(), settings, clock=clock) as hub:
        window, has_begun = answering(hub, "river")
        send(window, "Hello.", cancellation=cancelled())
        clock.now += timedelta(days=1)
        with closing(Reflecting(hub.open_windows)):
            assert has_begun.wait(PATIENCE_S)
        assert events(window, "reply")[-1]["ending"] == "stopped"
        assert window.doing == ""
