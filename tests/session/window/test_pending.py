"""Messages that wait for the end of a reply: none is lost, doubled, or sent before its turn."""

from pathlib import Path

import pytest

from halo_weave.errors import InputError
from halo_weave.session.turn.turn import send, send_pending
from halo_weave.session.window import pending as pending_module
from halo_weave.session.window.window import Window
from support.windows import living, opened_hub


def texts(window: Window) -> list[str]:
    return [message.text for message in window.pending.messages]


def test_waiting_messages_are_changed_withdrawn_and_reported(tmp_path: Path) -> None:
    with opened_hub(tmp_path / "halo.db") as hub:
        window = hub.open("main")
        first, second = window.pending.add("one"), window.pending.add("two")
        window.pending.change(first.id, "one, changed")
        window.pending.withdraw(second.id)
        assert texts(window) == ["one, changed"]
        told = [event.data["messages"] for event in window.log.since(0) or () if event.kind == "pending"]
        assert [[message["text"] for message in messages] for messages in told] == [
            ["one"],
            ["one", "two"],
            ["one, changed", "two"],
            ["one, changed"],
        ]
        with pytest.raises(InputError, match="does not wait any more"):
            window.pending.withdraw(second.id)
        with pytest.raises(InputError, match="does not wait any more"):
            window.pending.change(second.id, "three")


def test_waiting_messages_survive_the_process_and_an_interrupted_reply(tmp_path: Path) -> None:
    """The journal of the turn under way is cleared without them."""
    with opened_hub(tmp_path / "halo.db") as hub:
        window = hub.open("main")
        send(window, "Hello")
        window.pending.add("one")
        window.pending.add("two")
        send(window, "Sent by hand meanwhile")
    with opened_hub(tmp_path / "halo.db") as hub:
        window = hub.open("main")
        assert texts(window) == ["one", "two"]
        send_pending(window)
        assert texts(window) == ["two"]
        send_pending(window)
        assert send_pending(window) is None
        said = [text for key, text in living(window) if key.role == "user"]
        assert said == ["Hello", "Sent by hand meanwhile", "one", "two"]
    with opened_hub(tmp_path / "halo.db") as hub:
        assert texts(hub.open("main")) == []


def test_a_message_that_is_refused_keeps_waiting(tmp_path: Path) -> None:
    with opened_hub(tmp_path / "halo.db") as hub:
        window = hub.open("main")
        window.pending.add("far too long " * 5000)
        with pytest.raises(InputError, match="does not fit"):
            send_pending(window)
        assert len(texts(window)) == 1
        assert living(window) == []


def test_empty_too_many_and_too_long_messages_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened_hub(tmp_path / "halo.db") as hub:
        window = hub.open("main")
        for text in ("  ", "\ud800"):
            with pytest.raises(InputError, match="nothing was queued"):
                window.pending.add(text)
        monkeypatch.setattr(pending_module, "MOST_MESSAGES", 1)
        window.pending.add("one")
        with pytest.raises(InputError, match="1 messages are waiting already"):
            window.pending.add("two")
        monkeypatch.setattr(pending_module, "MOST_BYTES", 10)
        with pytest.raises(InputError, match="more than the limit of 10"):
            window.pending.change(window.pending.messages[0].id, "more than ten bytes")
        assert texts(window) == ["one"]
