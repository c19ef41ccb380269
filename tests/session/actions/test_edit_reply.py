"""A person replaces the text of the model's newest reply; the model is not asked."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halo_weave.engine.echo import EchoEngine
from halo_weave.errors import InputError
from halo_weave.memory.memory import open_memory
from halo_weave.records.chunks import ChunkKey
from halo_weave.session.actions import actions
from halo_weave.session.actions.reflection import MARK, reflect
from halo_weave.session.hub import Hub
from halo_weave.session.turn.turn import continue_reply, send
from halo_weave.session.window.window import Window
from support.endings import Ended, ending_before_write
from support.windows import (
    PLAIN,
    SIZES,
    WORDS_ALONE,
    Clock,
    held_text,
    kinds,
    living,
    long_text,
    opened_hub,
    seen_text,
    stored_text,
    weave,
)

QUESTION, OLD, NEW = "Tell me of oceans.", long_text(3, "ocean"), "The ocean is salty.\n\nIt is deep, and full of fish."


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    with opened_hub(tmp_path / "halo.db", EchoEngine([long_text(3, "river"), OLD, " And on.", "Yes."])) as hub:
        yield hub


@pytest.fixture
def window(hub: Hub) -> Window:
    """Two exchanges: turns 1 and 2, 3 and 4."""
    window = hub.open("river")
    send(window, "Tell me of rivers.")
    send(window, QUESTION)
    return window


def marks(window: Window, turn: int) -> list[Mapping[str, Any]]:
    return [chunk.marks for chunk in window.life.context if chunk.key.turn == turn]


def record(window: Window) -> list[Any]:
    return [entry.chunk for entry in window.memory.store.chunks_from(0, 1000)]


def test_the_edited_exchange_lives_in_the_place_of_the_earlier_one_which_is_superseded(window: Window) -> None:
    turn = actions.edit_reply(window, 4, NEW)
    assert (stored_text(window.memory, turn - 1), stored_text(window.memory, turn)) == (QUESTION, NEW)
    assert (stored_text(window.memory, 3), stored_text(window.memory, 4)) == ("", "")
    assert "".join(text for key, text in living(window) if key.turn > 2) == QUESTION + NEW
    assert {entry.origin for entry in window.memory.store.audit() if entry.action == "delete"} == {"superseded"}
    assert window.messages == 2


def test_only_the_reply_is_marked_as_edited_and_both_keep_their_time(window: Window) -> None:
    times = {chunk.time for chunk in window.life.context if chunk.key.turn in (3, 4)}
    turn = actions.edit_reply(window, 4, NEW)
    assert marks(window, turn - 1) == [{}]
    assert all(noted == {"edited": True} for noted in marks(window, turn))
    assert {chunk.time for chunk in window.life.context if chunk.key.turn >= turn - 1} == times


def test_an_edited_reflection_stays_one_and_no_longer_ends_in_the_middle(hub: Hub) -> None:
    window = hub.open("short")
    window.set_overrides({"generation.max_tokens": 4})
    turn = actions.edit_reply(window, reflect(window).turn, "We spoke of rivers.")
    assert marks(window, turn - 1) == [{MARK: True}]
    assert marks(window, turn) == [{MARK: True, "edited": True}]


def test_the_model_goes_on_from_the_edited_words(window: Window) -> None:
    turn = actions.edit_reply(window, 4, NEW)
    assert continue_reply(window).text == " And on."
    assert stored_text(window.memory, turn) == NEW + " And on."
    assert NEW in held_text(window)
    assert "ocean number" not in held_text(window)
    assert marks(window, turn)[-1] == {}


def test_the_model_goes_on_from_them_when_the_window_was_opened_again(hub: Hub, window: Window) -> None:
    turn = actions.edit_reply(window, 4, NEW)
    hub.close_window(window)
    window = hub.open("river")
    continue_reply(window)
    assert stored_text(window.memory, turn) == NEW + " And on."


def test_a_next_message_is_answered_knowing_only_the_edited_words(window: Window) -> None:
    actions.edit_reply(window, 4, NEW)
    figures = send(window, "Is that so?").figures
    assert NEW in held_text(window)
    assert "ocean number" not in held_text(window)
    assert figures.kept > 0  # earlier text is not read again


def test_an_edited_reply_can_be_edited_answered_anew_and_deleted(window: Window) -> None:
    turn = actions.edit_reply(window, actions.edit_reply(window, 4, NEW), "Salty.")
    assert stored_text(window.memory, turn) == "Salty."
    assert actions.delete(window, ChunkKey(turn, 0, "assistant")).question == QUESTION
    assert [key.turn for key, _ in living(window)] == [1, 2, 2, 2]
    actions.undelete(window, [ChunkKey(turn - 1, 0, "user"), ChunkKey(turn, 0, "assistant")])
    assert actions.regenerate(window).turn > turn
    assert stored_text(window.memory, turn) == ""


def test_the_earlier_reply_can_be_had_back(window: Window) -> None:
    actions.edit_reply(window, 4, NEW)
    old = [chunk.key for chunk in record(window) if chunk.key.turn in (3, 4)]
    actions.undelete(window, old)
    assert stored_text(window.memory, 4) == OLD
    assert OLD in seen_text(window)


def test_the_same_words_change_nothing(window: Window) -> None:
    before = living(window), window.memory.stats(), kinds(window)
    assert actions.edit_reply(window, 4, OLD) == 4
    assert (living(window), window.memory.stats(), kinds(window)) == before


def test_words_that_stay_as_they_were_stay_pinned(window: Window) -> None:
    for key in (ChunkKey(3, 0, "user"), ChunkKey(4, 1, "assistant"), ChunkKey(4, 2, "assistant")):
        actions.pin(window, key)
    actions.edit_reply(window, 4, OLD.replace("number 2", "number two"))
    pinned = [chunk.text for chunk in window.life.context if chunk.is_pinned]
    assert pinned[0] == QUESTION
    assert [text.split("ocean ")[1].split(" runs")[0] for text in pinned[1:]] == ["number 1"]


@pytest.mark.parametrize(
    ("turn", "text", "match"),
    [
        (2, "Other words.", "Only the newest reply can be edited; delete an older reply, or correct it in the conv"),
        (3, "Other words.", "Only the newest reply"),
        (77, "Other words.", "Only the newest reply"),
        (4, " \n", "The reply is empty; nothing was changed"),
        (4, "half \ud83d", "an unpaired surrogate at index 5; nothing was changed"),
        (4, "word " * 4100, r"does not fit in the context of \d+ tokens: \d+ for the reply .* Nothing was changed"),
    ],
)
def test_what_cannot_be_edited_is_refused_and_changes_nothing(window: Window, turn: int, text: str, match: str) -> None:
    before = living(window), window.memory.stats(), window.newest
    with pytest.raises(InputError, match=match):
        actions.edit_reply(window, turn, text)
    assert (living(window), window.memory.stats(), window.newest) == before


def test_where_there_is_no_reply_none_can_be_edited(hub: Hub) -> None:
    window = hub.open("empty")
    with pytest.raises(InputError, match="Only the newest reply"):
        actions.edit_reply(window, 2, "Words.")
    window.log.listen(lambda event: window.stop() if event.kind == "message" else None)
    turn = send(window, "Say nothing.").turn
    with pytest.raises(InputError, match="The window empty has no reply to edit"):
        actions.edit_reply(window, turn, "Words.")


def test_a_reply_as_long_as_the_context_is_told_apart_from_one_that_is_too_long(tmp_path: Path) -> None:
    """Without a budget the rest makes room for it."""
    settings = weave(budget_tokens=400)
    with opened_hub(tmp_path / "halo.db", EchoEngine(context_tokens=400), settings) as hub:
        window = hub.open("narrow")
        for _ in range(3):
            turn = send(window, "word " * 20).turn
        turn = actions.edit_reply(window, turn, "other " * 150)
        assert window.life.size() <= 400
        with pytest.raises(InputError, match="does not fit"):
            actions.edit_reply(window, turn, "other " * 200)
        with pytest.raises(InputError, match="does not fit"):
            continue_reply(window)
        assert send(window, "word").ending == "end"


@settings(max_examples=30)
@given(text=st.text(min_size=1, max_size=300).filter(str.strip))
def test_any_text_is_kept_to_the_letter(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    with opened_hub(tmp_path_factory.mktemp("any") / "halo.db", EchoEngine(["Hello.", " More."])) as hub:
        window = hub.open("any")
        turn = actions.edit_reply(window, send(window, "Hi.").turn, text)
        assert stored_text(window.memory, turn) == text
        assert text in seen_text(window)
        continue_reply(window)
        assert stored_text(window.memory, turn) == text + " More."


def test_wherever_the_process_ends_one_of_both_lives_and_neither_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    number = 0
    while is_cut_off(tmp_path / f"{number}.db", monkeypatch, number):
        number += 1
    assert number > 4


def is_cut_off(path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> bool:
    """Check the invariants after an edit ends before write `number`; return whether it has that many writes."""
    is_ended = False
    with closing(open_memory(path, WORDS_ALONE)) as memory:
        window = Hub(EchoEngine([OLD]), memory, PLAIN, SIZES, Clock()).open("river")
        send(window, QUESTION)
        try:
            with ending_before_write(monkeypatch, number):
                actions.edit_reply(window, 2, NEW)
        except Ended:
            is_ended = True
    with opened_hub(path, EchoEngine([" And on."])) as hub:
        window = hub.open("river")
        texts = ["".join(chunk.text for chunk in record(window) if chunk.key.turn == turn) for turn in (2, 4)]
        is_edited = texts == [OLD, NEW]
        assert is_edited or (is_ended and texts == [OLD, ""])
        kept = NEW if is_edited else OLD
        assert "".join(text for _, text in living(window)) == QUESTION + kept
        assert stored_text(window.memory, 2) == ("" if is_edited else OLD)
        assert window.memory.store.verify() == []
        reply = continue_reply(window)
        assert stored_text(window.memory, reply.turn) == kept + " And on."
    return is_ended
