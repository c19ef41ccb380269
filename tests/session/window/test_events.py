"""The events of a window: a follower knows everything that the window knows."""

import itertools
import threading
from base64 import b64decode
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from halo_weave.engine.echo import EchoEngine
from halo_weave.records.chunks import ChunkKey
from halo_weave.session.actions import actions
from halo_weave.session.turn.turn import send
from halo_weave.session.window.events import Event, EventLog
from halo_weave.session.window.window import Window
from halo_weave.session.window.window_state import window_state
from support.windows import long_text, opened_hub, weave


class Follower:
    """Takes a window's state at some moment and applies the events since."""

    def __init__(self, state: dict[str, Any]) -> None:
        self.seen = state["event"]
        self.chunks = {_key(chunk): chunk for chunk in state["chunks"]}
        self.writing = list(state["writing"])

    def hear(self, events: list[Event]) -> None:
        for event in events:
            assert event.number == self.seen + 1
            self.seen = event.number
            self._apply(event.kind, event.data)

    def _apply(self, kind: str, data: dict[str, Any]) -> None:
        if kind in ("message", "reply", "edited", "resurrected", "undeleted"):
            self.chunks |= {_key(chunk): _without_reason(chunk) for chunk in data["chunks"]}
        if kind == "reply":
            self.writing.clear()
        elif kind == "token":
            self.writing.append(data["text"])
        elif kind == "buried":
            for chunk in data["chunks"]:
                self.chunks.pop(_key(chunk))
        elif kind == "deleted":
            for key in data["keys"]:
                self.chunks.pop(_key({"key": key}), None)
        elif kind == "merged":
            self.chunks.pop(_key({"key": data["gone"]}), None)
            if data["chunk"]:
                self.chunks[_key(data["chunk"])] = data["chunk"]
        elif kind in ("pinned", "unpinned"):
            self._pin(_key(data), is_pinned=kind == "pinned")
        elif kind == "brightness":
            self._recolour(data)

    def _pin(self, key: tuple[Any, ...], *, is_pinned: bool) -> None:
        self.chunks[key]["is_pinned"] = is_pinned
        if is_pinned:
            self.chunks[key]["brightness"] = [10_000] * len(self.chunks[key]["pieces"])
            self.chunks[key]["peak"] = 10_000

    def _recolour(self, data: dict[str, Any]) -> None:
        values = np.frombuffer(b64decode(data["brightness"]), "<i2").tolist()
        for chunk in self.in_order():
            count = len(chunk["pieces"])
            chunk["brightness"], values = values[:count], values[count:]
            chunk["peak"] = max(chunk["brightness"])
        assert values == []

    def in_order(self) -> list[dict[str, Any]]:
        return sorted(self.chunks.values(), key=lambda chunk: int(chunk["position"]))


def _without_reason(chunk: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in chunk.items() if name not in ("code", "reason")}


def _key(chunk: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(chunk["key"].values())


def state_of(window: Window) -> dict[str, Any]:
    state: dict[str, Any] = msgspec.to_builtins(window_state(window))
    return state


@pytest.mark.parametrize("moment", [0, 1, 2, 5, 12, 30, 60, 90, 120, 10_000])
def test_a_late_subscriber_knows_all_from_the_state_and_the_events_since(tmp_path: Path, moment: int) -> None:
    with opened_hub(tmp_path / "halo.db", EchoEngine([long_text(3)]), weave(budget_tokens=220)) as hub:
        window = hub.open("river")
        states = [state_of(window)]

        def join_at_its_moment(event: Event) -> None:
            if event.number == moment:
                states.append(state_of(window))

        window.log.listen(join_at_its_moment)
        send(window, "Tell me of rivers.")
        actions.merge(window, ChunkKey(2, 1, "assistant"))
        send(window, "And of oceans.")
        actions.pin(window, ChunkKey(2, 0, "assistant"))
        actions.undelete(window, actions.delete(window, ChunkKey(1, 0, "user")).keys)
        for _ in range(3):
            reply = send(window, "Go on.")
        actions.edit_reply(window, reply.turn, "It is said.")
        if buried := sorted(window.life.burial_log):
            actions.resurrect(window, buried[0])
        follower = Follower(states[-1])
        follower.hear(window.log.since(follower.seen) or [])
        final = state_of(window)
        assert follower.seen == final["event"]
        assert follower.in_order() == final["chunks"]
        assert follower.writing == final["writing"] == []


def test_every_state_in_between_can_be_followed_to_the_next(tmp_path: Path) -> None:
    with opened_hub(tmp_path / "halo.db", EchoEngine([long_text(3)]), weave(budget_tokens=150)) as hub:
        window = hub.open("river")
        states = []
        window.log.listen(lambda _: states.append(state_of(window)))
        for _ in range(3):
            send(window, "Tell me of rivers.")
        for number, (before, after) in enumerate(itertools.pairwise(states)):
            follower = Follower(before)
            follower.hear([event for event in window.log.since(number + 1) or [] if event.number <= after["event"]])
            if before["event"] == after["event"] - 1 and not after["writing"]:
                assert [chunk["key"] for chunk in follower.in_order()] == [chunk["key"] for chunk in after["chunks"]]


def test_events_are_numbered_without_a_gap(tmp_path: Path) -> None:
    with opened_hub(tmp_path / "halo.db") as hub:
        window = hub.open("river")
        for _ in range(3):
            send(window, "Tell me of rivers.")
        numbers = [event.number for event in window.log.since(0) or []]
        assert numbers == list(range(1, len(numbers) + 1))
        assert window.log.last_number == len(numbers)


def test_what_was_forgotten_or_never_was_is_answered_with_nothing() -> None:
    log = EventLog(remembered=3)
    for text in "abcde":
        log.tell("notice", text=text)
    assert [event.number for event in log.since(2) or []] == [3, 4, 5]
    assert log.since(5) == []
    assert log.since(1) is None
    assert log.since(6) is None
    assert log.wait(1) is None


def test_events_are_kept_up_to_a_number_of_bytes_and_what_is_gone_is_not_told_in_part() -> None:
    log = EventLog(remembered_bytes=1_000_000)
    digest = "x" * 100_000
    for _ in range(50):
        log.tell("token", text="word", position="7")
        log.tell("brightness", brightness=digest, attention=digest)
        assert log.remembered_bytes <= 1_000_000
    kept = log.remembered()
    assert 4 <= len(kept) < 20
    assert log.since(kept[0].number - 1) == kept
    assert log.since(kept[0].number - 2) is None


def test_an_event_that_is_larger_than_all_that_is_kept_is_told() -> None:
    log = EventLog(remembered_bytes=1000)
    log.tell("notice", text="small")
    log.tell("notice", text="x" * 5000)
    assert [event.number for event in log.since(1) or []] == [2]
    assert log.since(0) is None


def test_bytes_of_nested_values_are_counted() -> None:
    log = EventLog()
    log.tell("message", chunks=[{"pieces": ["x" * 1000] * 10}] * 5)
    assert 50_000 < log.remembered_bytes < 60_000


def test_a_listener_gets_events_as_they_come_until_the_end() -> None:
    log = EventLog()
    heard: list[int] = []
    thread = threading.Thread(target=lambda: heard.extend(event.number for event in log.follow(0)))
    thread.start()
    for _ in range(500):
        log.tell("notice", text="hello")
    log.close()
    thread.join()
    assert heard == list(range(1, 501))
    assert log.wait(500) == []


def test_a_listener_that_is_too_slow_is_sent_to_the_state() -> None:
    log = EventLog(remembered=3)
    log.tell("notice", text="first")
    following = log.follow(0)
    assert next(following).number == 1
    for _ in range(10):
        log.tell("notice", text="more")
    assert list(following) == []
    assert log.since(log.last_number - 3) is not None


def test_events_of_many_threads_are_each_told_once_and_in_order() -> None:
    log = EventLog(remembered=10_000)

    def tell(text: str) -> None:
        for _ in range(200):
            log.tell("notice", text=text)

    threads = [threading.Thread(target=tell, args=(str(number),)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    events = log.since(0) or []
    assert [event.number for event in events] == list(range(1, 801))
    assert sorted(event.data["text"] for event in events) == sorted("0123" * 200)


def test_a_window_tells_when_it_is_closed(tmp_path: Path) -> None:
    with opened_hub(tmp_path / "halo.db") as hub:
        window: Window = hub.open("river")
        hub.close_window(window)
        assert [event.kind for event in window.log.follow(0)] == ["closed"]
