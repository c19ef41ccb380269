"""A long conversation with the bundled model: no error at the limit, nothing lost, and the first fact returns."""

import os
from pathlib import Path

from halo_weave.engine.llamacpp.engine import LlamaEngine
from halo_weave.engine.protocol import GenerationSettings
from halo_weave.memory.embedders.embedder import EmbedderSettings
from halo_weave.records.chunks import ChunkKey
from halo_weave.session.settings import WindowSettings
from halo_weave.session.turn.turn import send
from halo_weave.session.window.chunk_json import key_to_json
from halo_weave.session.window.window import Window
from halo_weave.weave.settings import WeaveSettings
from support.windows import is_ascending, opened_hub

FULL = bool(os.environ.get("HALO_TEST_FULL"))
TURNS = 300 if FULL else 12
BUDGET = 1500
SETTINGS = WindowSettings(
    generation=GenerationSettings(max_tokens=40 if FULL else 12, temperature=0.7, seed=1),
    # Without the cap, off-topic text would fill the free space, and the model would have to read it in every turn. Kept
    # by worth, the fact would never leave and so could not return.
    weave=WeaveSettings(budget_tokens=BUDGET, keeps_by="brightness"),
)
FACT = "Please remember: the code of my bicycle lock is 4417."
ASKED = "What is the code of my bicycle lock?"
FACT_KEY = ChunkKey(1, 0, "user")
SUBJECTS = ("lighthouses", "bread", "glaciers", "clocks", "harbours", "violins", "deserts", "printing", "bees", "maps")
DETAILS = ("how they came about", "who looks after them", "what they cost", "what goes wrong", "what children think")


def scripted(number: int) -> str:
    subject, detail = SUBJECTS[number % len(SUBJECTS)], DETAILS[number // len(SUBJECTS) % len(DETAILS)]
    told = " ".join(
        f"In chapter {number}.{part} of my notes on {subject} there is a page about {detail}, with a drawing on it."
        for part in range(1, 7)
    )
    return f"{told} Tell me something about {subject}."


def assert_sound(window: Window) -> None:
    assert window.life.size() <= BUDGET
    assert is_ascending(window.life.layout().placed)
    positions = [chunk.first_position for chunk in window.life.context]
    assert positions == sorted(positions)
    stored = [entry.chunk for entry in window.memory.store.chunks_from(0, 100_000)]
    here = window.life.context.keys() | window.life.burial_log.keys()
    assert all(chunk.key in here or chunk.deleted for chunk in stored)


def test_a_fact_of_the_first_turn_is_back_at_its_place_when_it_is_asked_for_in_the_last(
    tmp_path: Path, llama_engine: LlamaEngine
) -> None:
    with opened_hub(tmp_path / "halo.db", llama_engine, SETTINGS, embedder=EmbedderSettings()) as hub:
        window = hub.open("long")
        send(window, FACT)
        was_buried = False
        for number in range(TURNS - 2):
            reply = send(window, scripted(number))
            assert reply.ending in ("end", "length")
            assert_sound(window)
            was_buried |= FACT_KEY in window.life.burial_log
        assert was_buried
        window.memory.settle()
        before = window.log.last_number
        send(window, ASKED)
        assert_sound(window)
        told = [event.data["chunks"] for event in window.log.since(before) or [] if event.kind == "resurrected"]
        assert key_to_json(FACT_KEY) in [chunk["key"] for chunks in told for chunk in chunks]
        context = window.engine.detokenize([placed.token_id for placed in window.engine_context.tokens])
        assert context.index("4417") < context.index(ASKED)
        assert window.memory.store.verify() == []
        assert len(window.life.burial_log) > TURNS // 4
