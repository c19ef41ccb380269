"""`query_memory` brings the conversation behind a memory back into the context, at its old positions."""

from pathlib import Path

from halo_weave.records.chunks import ChunkKey
from halo_weave.session.actions.actions import merge
from halo_weave.session.turn.turn import send
from halo_weave.session.window.window import Window
from support.tool_windows import by_tools, events, hub_with_tools
from support.windows import PLAIN, is_ascending, living, long_text, notices, positions_of, weave, with_section

SAVE = "<tool>save_memory('Pets', \"the cat Mia sleeps on the piano\")</tool>"
QUERY = "<tool>query_memory('Pets')</tool>"
FACT = "The cat Mia sleeps on the piano."
SHORT = with_section(weave(PLAIN, budget_tokens=0), "generation", max_tokens=80)


def _texts(window: Window) -> list[str]:
    return [text for _, text in living(window)]


def _returned(window: Window) -> dict[str, str]:
    """Return the texts that returned, with their reasons."""
    chunks = [chunk for told in events(window, "resurrected") for chunk in told["chunks"]]
    return {"".join(chunk["pieces"]): chunk["reason"] for chunk in chunks}


def test_the_context_of_a_memory_returns_to_its_place_with_its_reason(tmp_path: Path) -> None:
    replies = [SAVE, "Saved.", "Hello.", QUERY, "On the piano."]
    with hub_with_tools(tmp_path / "halo.db", replies, SHORT) as hub:
        there, here = hub.open("there"), hub.open("here")
        send(there, FACT)
        send(here, "Hello.")
        reply = send(here, "Where does she sleep?")
        assert reply.text.endswith("On the piano.")
        assert "memory tree Pets" in _returned(here)[FACT]
        assert _texts(here)[0] == FACT
        (source,) = [chunk for chunk in there.life.context if chunk.text == FACT]
        (woven,) = [chunk for chunk in here.life.context if chunk.text == FACT]
        assert (woven.first_position, woven.turn) == (source.first_position, source.turn)
        assert is_ascending(here.life.layout().placed)
        assert len(by_tools(here)) == 1


def test_what_is_dim_gives_way_to_it_and_the_latest_turns_stay(tmp_path: Path) -> None:
    many = [f"{FACT} She is number {number} of them.\n\n" for number in range(6)]
    replies = [SAVE, "Saved.", *["Yes."] * 4, QUERY, "On the piano."]
    with hub_with_tools(tmp_path / "halo.db", replies, SHORT, context_tokens=600) as hub:
        there, here = hub.open("there"), hub.open("here")
        send(there, "".join(many))
        for number in range(4):
            send(here, long_text(4, name=f"river{number}"))
        size = here.life.size()
        send(here, "Where does she sleep?")
        assert _returned(here)
        assert events(here, "buried")
        assert any("river3" in text for text in _texts(here))
        assert size > 250
        assert here.life.size() <= 600
        positions = positions_of(list(here.life.context))
        assert positions == sorted(set(positions))


def test_what_lives_already_is_not_brought_twice(tmp_path: Path) -> None:
    with hub_with_tools(tmp_path / "halo.db", [SAVE, "Saved.", QUERY, "On the piano."]) as hub:
        window = hub.open("main")
        send(window, FACT)
        send(window, "Where does she sleep?")
        assert _texts(window).count(FACT) == 1
        assert _returned(window) == {}


def test_what_was_merged_since_comes_as_what_it_is_part_of(tmp_path: Path) -> None:
    said = f"{FACT} It is black and old.\n\nThe cat Mia also likes the windows, when the sun shines there."
    replies = [SAVE, "Saved.", QUERY, "On the piano."]
    with hub_with_tools(tmp_path / "halo.db", replies, SHORT) as hub:
        there, here = hub.open("there"), hub.open("here")
        turn = send(there, said).turn - 1
        assert len(there.memory.chunks_of_turn(turn)) == 2
        merge(there, ChunkKey(turn, 1, "user"))
        send(here, "Where does she sleep?")
        assert _texts(here)[0] == said
        assert is_ascending(here.life.layout().placed)


def test_what_was_deleted_does_not_return(tmp_path: Path) -> None:
    replies = [SAVE, "Saved.", QUERY, "I do not know."]
    with hub_with_tools(tmp_path / "halo.db", replies, SHORT) as hub:
        there, here = hub.open("there"), hub.open("here")
        turn = send(there, FACT).turn - 1
        there.memory.delete([ChunkKey(turn, 0, "user")], "test")
        send(here, "Where does she sleep?")
        assert FACT not in _texts(here)
        assert notices(here) == []
