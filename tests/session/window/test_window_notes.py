"""Notes that are always present in one window: the model reads them, they are counted, and they never leave."""

from pathlib import Path

from halo_weave.session.turn.turn import send
from halo_weave.session.window.context_usage import context_usage
from support.windows import long_text, opened_hub, seen_text, weave

NOTES = {
    "chat.character": "You are Ada, a lighthouse keeper.",
    "chat.persona": "A sailor called Bo.",
    "chat.note": "It is winter.\n",
}


def test_the_notes_of_a_window_are_read_with_every_message_and_never_leave(tmp_path: Path) -> None:
    with opened_hub(tmp_path / "halo.db", settings=weave(budget_tokens=150)) as hub:
        window, other = hub.open("story"), hub.open("other")
        window.set_overrides(NOTES)
        for number in range(3):
            send(window, long_text(6, f"river {number}"))
        assert window.life.burial_log
        read = seen_text(window)
        assert "Be kind.\n\nYour character: You are Ada, a lighthouse keeper.\n\nThe user: A sailor called Bo." in read
        assert "Note: It is winter." in read
        send(other, "Hello")
        assert "Ada" not in seen_text(other)
    with opened_hub(tmp_path / "halo.db") as hub:
        assert "Note: It is winter." in seen_text(hub.open("story"))


def test_the_meter_counts_the_notes_apart_from_the_system_prompt(tmp_path: Path) -> None:
    with opened_hub(tmp_path / "halo.db") as hub:
        window = hub.open("story")
        before = context_usage(window)["meter"]
        window.set_overrides(NOTES)
        meter = context_usage(window)["meter"]
        assert before["notes"] == 0
        assert meter["notes"] == window.note_tokens > 0
        assert meter["system"] - before["system"] in range(3)  # what separates both
        assert sum(meter.values()) == window.usable_tokens == sum(before.values())


def test_no_note_and_an_empty_note_are_the_same(tmp_path: Path) -> None:
    with opened_hub(tmp_path / "halo.db") as hub:
        window = hub.open("story")
        before = seen_text(window)
        window.set_overrides({"chat.note": " \n"})
        assert seen_text(window) == before
