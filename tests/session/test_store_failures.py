"""A store that fails at any step of a turn: the window stays usable, and nothing that was shown is lost."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from halo_weave.engine.echo import EchoEngine
from halo_weave.errors import StoreError
from halo_weave.session.actions import actions
from halo_weave.session.hub import Hub
from halo_weave.session.turn.turn import send
from halo_weave.session.window.events import Event
from halo_weave.session.window.window import Newest, Window
from support.failing_stores import WORDS, FailingStore, Moment, failing_memory
from support.servers.served import Tab, received, served, until
from support.windows import SIZES, Clock, living, long_text, stored_text, weave

SETTINGS = weave(resurrection=True, budget_tokens=150)
FIRST, ANSWER = "Tell me of oceans.", long_text(2, "ocean")
QUESTION, REPLY = "Tell me of rivers.", long_text(3)
Act = Callable[[Window], object]
TURNS: dict[str, Act] = {
    "send": lambda window: send(window, QUESTION),
    "regenerate": actions.regenerate,
    "edit the reply": lambda window: actions.edit_reply(window, newest(window).turn_assistant, ANSWER),
}


def newest(window: Window) -> Newest:
    assert window.newest is not None
    return window.newest


def shown(window: Window, since: int) -> tuple[str, str]:
    """Return the message and the model's text that were reported after an event."""
    events = window.log.since(since) or []
    message = (chunk for event in events if event.kind == "message" for chunk in event.data["chunks"])
    tokens = (event.data["text"] for event in events if event.kind == "token")
    return "".join(piece for chunk in message for piece in chunk["pieces"]), "".join(tokens)


def errors(window: Window, since: int) -> list[str]:
    return [event.data["text"] for event in window.log.since(since) or [] if event.kind == "error"]


def own_text(window: Window) -> str:
    """Return everything said in a window that is not deleted."""
    stored = (entry.chunk for entry in window.memory.store.chunks_from(0, 100_000))
    return "".join(one.text for one in stored if not one.deleted and (one.metadata or {})["window"] == window.id)


def fails(hub: Hub, store: FailingStore, act: Act, number: int, moment: Moment) -> bool:
    """Check the invariants after store call `number` of a turn fails; return whether there are that many calls."""
    window = hub.open(f"river {number}")
    send(window, FIRST)
    before = window.log.last_number
    store.watch(number, moment)
    with suppress(StoreError):
        act(window)
    is_reached = len(store.calls) > number
    store.relent()
    assert (window.doing, window.writing) == ("", [])
    assert errors(window, before) == ([WORDS] if is_reached else [])
    message, came = shown(window, before)
    assert send(window, "Is that all?").ending == "end"
    said = own_text(window)
    assert came in said
    assert said.count("Is that all?") == 1
    assert said.count(message) == 1 or not message
    lives, buried = living(window), set(window.life.burial_log)
    hub.close_window(window)
    again = hub.open(window.id)
    assert (living(again), set(again.life.burial_log)) == (lives, buried)
    hub.close_window(again)
    return is_reached


@pytest.mark.parametrize(("turn", "moment"), [*((turn, "before") for turn in TURNS), ("send", "after")])
def test_a_store_failure_at_every_step_of_a_turn_leaves_the_window_usable_and_loses_nothing(
    tmp_path: Path, turn: str, moment: Moment
) -> None:
    engine = EchoEngine([REPLY] * 500)
    with failing_memory(tmp_path / "halo.db") as (memory, store):
        hub, number = Hub(engine, memory, SETTINGS, SIZES, Clock()), 0
        while fails(hub, store, TURNS[turn], number, moment):
            number += 1
        assert number > 8
        assert memory.store.verify() == []


def test_what_was_shown_of_a_reply_is_kept_though_the_store_fails_until_it_is_back(tmp_path: Path) -> None:
    with failing_memory(tmp_path / "halo.db") as (memory, store):
        window = Hub(EchoEngine([ANSWER]), memory, SETTINGS, SIZES, Clock()).open("river")

        def fail(event: Event) -> None:
            store.is_down = store.is_down or event.kind == "token"

        window.log.listen(fail)
        with pytest.raises(StoreError):
            send(window, FIRST)
        window.log.stop_listening(fail)
        assert (window.doing, window.writing) == ("", [])
        _, came = shown(window, 0)
        store.relent()
        assert came == ANSWER
        assert send(window, "Go on.").ending == "end"
        assert stored_text(memory, 2) == came


def test_a_fault_inside_a_turn_is_told_once_and_leaves_the_window_usable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with served(tmp_path, replies=[ANSWER, REPLY]) as server:
        window = server.new_window()
        tab = Tab(server, window)
        opened = server.program.window(window)

        def fault(*_: object, **__: object) -> None:
            raise ZeroDivisionError

        with tab.connected() as socket, monkeypatch.context() as patch:
            tab.follow_until(socket, lambda: tab.states)
            patch.setattr(opened.memory.store, "put_window", fault)
            server.post(f"/api/windows/{window}/messages", {"text": FIRST}, status=202)
            heard: list[str] = []
            while not heard:
                message = received(socket)
                tab.take(message)
                heard += [one["data"]["text"] for one in message.get("events", []) if one["kind"] == "error"]
        assert heard == ["Internal error (ZeroDivisionError); see the log for details."]
        until(lambda: not server.program.turns.is_busy(opened))
        state = server.get(f"/api/windows/{window}")
        assert (state["doing"], state["writing"]) == ("", [])
        assert "".join(p for chunk in state["chunks"] for p in chunk["pieces"]) == FIRST
        assert server.say(window, QUESTION)["writing"] == []
