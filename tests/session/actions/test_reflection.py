"""Reflection: after a period of silence the model summarises its context."""

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from halo_weave.engine.cancellation import Cancellation
from halo_weave.errors import EngineUnavailable
from halo_weave.records.chunks import ChunkKey
from halo_weave.session.actions import actions, reflection
from halo_weave.session.actions.reflection import Reflecting, is_due, reflect
from halo_weave.session.hub import Hub
from halo_weave.session.turn.turn import send
from halo_weave.session.window.window import Window
from support.windows import PLAIN, Clock, opened_hub, stored_text, with_section

ON = with_section(PLAIN, "reflection", is_on=True, after_minutes=30.0, prompt="Sum it all up.")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(autouse=True)
def few_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reflection, "AFTER_MESSAGES", 2)


@pytest.fixture
def hub(tmp_path: Path, clock: Clock) -> Iterator[Hub]:
    with opened_hub(tmp_path / "halo.db", settings=ON, clock=clock) as hub:
        yield hub


def test_reflection_is_off_unless_wished_for(tmp_path: Path, clock: Clock) -> None:
    with opened_hub(tmp_path / "halo.db", settings=PLAIN, clock=clock) as hub:
        window = hub.open("river")
        for _ in range(9):
            send(window, "Hello.")
        clock.now += timedelta(days=9)
        assert not is_due(window)


def test_reflection_is_due_after_enough_messages_and_enough_silence(hub: Hub, clock: Clock) -> None:
    window = hub.open("river")
    send(window, "The river is long.")
    clock.now += timedelta(hours=1)
    assert not is_due(window)
    send(window, "The sea is deep.")
    assert not is_due(window)
    clock.now += timedelta(hours=1)
    assert is_due(window)
    window.set_overrides({"reflection.prompt": " "})
    clock.now += timedelta(hours=1)
    assert not is_due(window)


def test_question_and_answer_are_a_marked_pair_like_any_other(hub: Hub, clock: Clock) -> None:
    window = hub.open("river")
    for text in ("The river is long.", "The sea is deep."):
        send(window, text)
    reply = reflect(window)
    assert stored_text(window.memory, 5) == "Sum it all up."
    assert reply.text == stored_text(window.memory, 6)
    for turn in (5, 6):
        assert (window.memory.chunks_of_turn(turn)[0].chunk.metadata or {})[reflection.MARK] is True
    clock.now += timedelta(days=1)
    assert not is_due(window)
    deletion = actions.delete(window, ChunkKey(5, 0, "user"))
    assert stored_text(window.memory, 6) == ""
    actions.undelete(window, deletion.keys)
    other = hub.open("other")
    actions.resurrect(other, ChunkKey(6, 0, "assistant"))
    assert ChunkKey(5, 0, "user") in other.life.context


def test_what_was_reflected_on_is_known_after_opening_again(hub: Hub, clock: Clock) -> None:
    window = hub.open("river")
    for _ in range(3):
        send(window, "The river is long.")
    reflect(window)
    hub.close_window(window)
    window = hub.open("river")
    clock.now += timedelta(days=1)
    assert not is_due(window)


def test_a_thread_looks_after_all_windows(hub: Hub, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reflection, "_LOOK_EVERY_S", 0.01)
    window = hub.open("river")
    reflected = threading.Event()
    for _ in range(2):
        send(window, "The river is long.")
    window.log.listen(lambda event: reflected.set() if event.kind == "stats" else None)
    clock.now += timedelta(days=1)
    reflecting = Reflecting(hub.open_windows)
    try:
        assert reflected.wait(60)
    finally:
        reflecting.close()
    assert stored_text(window.memory, 5) == "Sum it all up."


def test_whoever_has_it_carried_out_may_refuse_and_is_asked_again(
    hub: Hub, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reflection, "_LOOK_EVERY_S", 0.01)
    window = hub.open("river")
    for _ in range(2):
        send(window, "The river is long.")
    clock.now += timedelta(days=1)
    asked: list[Window] = []
    is_done = threading.Event()

    def carry_out(window: Window, work: Callable[[Cancellation], object]) -> None:
        asked.append(window)
        if len(asked) < 3:
            raise EngineUnavailable("The model is away.")
        work(Cancellation())
        is_done.set()

    reflecting = Reflecting(hub.open_windows, carry_out)
    try:
        assert is_done.wait(60)
    finally:
        reflecting.close()
    assert asked == [window] * 3
    assert stored_text(window.memory, 5) == "Sum it all up."


def test_a_summary_that_fails_is_not_asked_for_again_before_there_is_more_to_say(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reflection, "_LOOK_EVERY_S", 0.01)
    too_long = with_section(ON, "reflection", prompt="word " * 5000)
    with opened_hub(tmp_path / "halo.db", settings=too_long, clock=clock) as hub:
        window = hub.open("river")
        for _ in range(2):
            send(window, "The river is long.")
        clock.now += timedelta(days=1)
        assert is_due(window)
        has_failed = threading.Event()

        def carry_out(_: Window, work: Callable[[Cancellation], object]) -> None:
            try:
                work(Cancellation())
            finally:
                has_failed.set()

        reflecting = Reflecting(hub.open_windows, carry_out)
        try:
            assert has_failed.wait(60)
        finally:
            reflecting.close()
        assert not is_due(window)
        assert stored_text(window.memory, 5) == ""


def test_the_thread_goes_on_after_an_unexpected_failure(
    hub: Hub, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reflection, "_LOOK_EVERY_S", 0.01)
    window = hub.open("river")
    for _ in range(2):
        send(window, "The river is long.")
    clock.now += timedelta(days=1)
    failures, is_done = iter([ValueError("unexpected")]), threading.Event()

    def open_windows() -> list[Window]:
        for error in failures:
            raise error
        return hub.open_windows()

    def carry_out(_: Window, work: Callable[[Cancellation], object]) -> None:
        work(Cancellation())
        is_done.set()

    reflecting = Reflecting(open_windows, carry_out)
    try:
        assert is_done.wait(60)
    finally:
        reflecting.close()
