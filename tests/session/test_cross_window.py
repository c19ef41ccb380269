"""Text from one window returns in another by its meaning: a question about a cat and brightness recalls both."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from halo_weave.engine.echo import EchoEngine
from halo_weave.memory.embedders.embedder import EmbedderSettings
from halo_weave.records.chunks import ChunkKey
from halo_weave.session.hub import Hub
from halo_weave.session.turn.turn import send
from support.windows import PLAIN, Clock, brightness, held_text, living, opened_hub, positions_of, seen_text, weave

SETTINGS = weave(PLAIN, budget_tokens=120, keeps_by="brightness", resurrection=True)
BRIGHTNESS = ("How does brightness scoring work?", "Brightness uses magnitude voting over the attention of each step.")
CAT = ("Tell me about my cat.", "Your cat is a Siamese with blue eyes, and nobody can foresee her moods.")
OTHERS = (
    ("What should I cook for dinner?", "Bake bread with rosemary, and serve lentil soup before it."),
    ("When is the tax return due?", "It has to be sent to the tax office by the end of July."),
    ("How do ships float?", "They push aside as much water as they weigh themselves."),
    ("Who painted the ceiling of the chapel?", "Michelangelo did, lying on his back for four years."),
)
QUESTION = "My cat is like brightness scoring: unpredictable."


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    replies = [answer for _, answer in (BRIGHTNESS, CAT, *OTHERS)]
    with opened_hub(
        tmp_path / "halo.db", EchoEngine([*replies, "Indeed."]), SETTINGS, embedder=EmbedderSettings(), clock=Clock()
    ) as hub:
        yield hub


def test_a_window_knows_what_was_said_in_another_one_without_being_told(hub: Hub) -> None:
    a, b = hub.open("Halo Weave"), hub.open("Cat")
    a.set_overrides({"chat.system_prompt": "You are a scientist."})
    b.set_overrides({"chat.system_prompt": "You are a pirate."})
    send(a, BRIGHTNESS[0])
    send(b, CAT[0])
    for question, _ in OTHERS:
        a.memory.settle()
        a.set_overrides({**a.overrides, "weave.resurrection": False})
        send(a, question)
    assert ChunkKey(1, 0, "user") in a.life.burial_log
    assert a.memory.settle() == []
    b_before = brightness(b), seen_text(b), dict(b.life.burial_log)

    a.set_overrides({"chat.system_prompt": "You are a scientist.", "weave.budget_tokens": 400})
    number = a.log.last_number
    figures = send(a, QUESTION).figures
    returned = [event for event in a.log.since(number) or [] if event.kind == "resurrected"]
    keys = {(chunk["key"]["turn"], chunk["key"]["role"]) for event in returned for chunk in event.data["chunks"]}
    assert {("1", "user"), ("2", "assistant"), ("3", "user"), ("4", "assistant")} <= keys
    assert all(chunk["reason"] for event in returned for chunk in event.data["chunks"])
    assert figures.resurrected <= 260

    words = seen_text(a)
    order = [words.index(text) for text in (*BRIGHTNESS, *CAT, QUESTION)]
    assert order == sorted(order)
    positions = positions_of(list(a.life.context))
    assert positions == sorted(set(positions))
    assert "Siamese" in held_text(a)
    assert "pirate" not in words
    assert all(min(brightness(a)[key]) >= 255 - 10 for key, _ in living(a))
    assert (brightness(b), seen_text(b), dict(b.life.burial_log)) == b_before
