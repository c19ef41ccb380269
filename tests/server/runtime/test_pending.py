"""Messages queued during a reply follow it by themselves; closing a window leaves them waiting."""

from pathlib import Path
from typing import Any

from support.servers.served import Served, served, until
from support.waiting_engine import WaitingEngine


def said(state: dict[str, Any]) -> list[str]:
    return ["".join(chunk["pieces"]) for chunk in state["chunks"] if chunk["key"]["role"] == "user"]


def queue(server: Served, window: str, *texts: str) -> None:
    for text in texts:
        server.post(f"/api/windows/{window}/queue", {"text": text}, status=202)


def until_said(server: Served, window: str, count: int) -> None:
    until(lambda: len(said(server.get(f"/api/windows/{window}"))) == count)


def test_queued_messages_follow_the_reply_in_their_order(tmp_path: Path) -> None:
    with served(tmp_path, step_seconds=0.02) as server:
        window = server.new_window()
        server.post(f"/api/windows/{window}/messages", {"text": "zero"}, status=202)
        queue(server, window, "one", "two")
        until_said(server, window, 3)
        state = server.settled(window)
        assert (said(state), state["pending"]) == (["zero", "one", "two"], [])


def test_a_message_queued_in_an_idle_window_is_sent_at_once(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        window = server.new_window()
        queue(server, window, "one")
        until_said(server, window, 1)


def test_closing_a_window_sends_nothing_and_what_waits_can_be_sent_later(tmp_path: Path) -> None:
    with served(tmp_path, open_engine=lambda _: WaitingEngine()) as server:
        window = server.new_window()
        server.post(f"/api/windows/{window}/messages", {"text": "zero"}, status=202)
        until_said(server, window, 1)
        queue(server, window, "one")
        server.post(f"/api/windows/{window}/close")
        state = server.get(f"/api/windows/{window}")
        assert (said(state), [message["text"] for message in state["pending"]]) == (["zero"], ["one"])
        server.post(f"/api/windows/{window}/send-queued", status=202)
        until_said(server, window, 2)
        server.post(f"/api/windows/{window}/stop", status=202)


def test_after_an_error_nothing_follows_by_itself(tmp_path: Path) -> None:
    with served(tmp_path, step_seconds=0.02, context_tokens=700) as server:
        window = server.new_window()
        server.post(f"/api/windows/{window}/messages", {"text": "zero"}, status=202)
        queue(server, window, "far too long " * 500, "two")
        state = server.settled(window)
        until(lambda: not server.program.turns.is_busy(server.program.window(window)))
        assert len(server.get(f"/api/windows/{window}")["pending"]) == 2
        first = state["pending"][0]["id"]
        server.call("PUT", f"/api/windows/{window}/queue/{first}", {"text": "one"})
        server.post(f"/api/windows/{window}/send-queued", status=202)
        until_said(server, window, 3)
