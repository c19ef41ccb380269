"""The actions of a person on a conversation."""

from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from halo_weave.engine.echo import EchoEngine
from halo_weave.engine.protocol import Placed, SyncReport
from halo_weave.errors import EngineStopped, InputError
from halo_weave.records.chunks import ChunkKey
from halo_weave.session.actions import actions
from halo_weave.session.hub import Hub
from halo_weave.session.turn.turn import continue_reply, send
from halo_weave.session.window.window import Window
from halo_weave.weave.living import TurnKey
from support.windows import (
    PLAIN,
    brightness,
    held_text,
    kinds,
    living,
    long_text,
    notices,
    opened_hub,
    seen_text,
    stored_text,
    weave,
    with_section,
)

QUESTION, ANSWER = ChunkKey(1, 0, "user"), ChunkKey(2, 0, "assistant")
SECOND_QUESTION, SECOND_ANSWER = ChunkKey(3, 0, "user"), ChunkKey(4, 0, "assistant")


@pytest.fixture
def engine() -> EchoEngine:
    return EchoEngine([long_text(3, "river"), long_text(3, "ocean")])


@pytest.fixture
def hub(tmp_path: Path, engine: EchoEngine) -> Iterator[Hub]:
    with opened_hub(tmp_path / "halo.db", engine) as hub:
        yield hub


@pytest.fixture
def window(hub: Hub) -> Window:
    """Two exchanges with answers of three chunks."""
    window = hub.open("river")
    send(window, "Tell me of rivers.")
    send(window, "Tell me of oceans.")
    return window


def keys(window: Window) -> list[ChunkKey]:
    return [key for key, _ in living(window)]


def is_deleted(window: Window, key: ChunkKey) -> bool:
    stored = window.memory.chunk(key)
    assert stored is not None
    return stored.chunk.deleted


def of_turn(keys: list[ChunkKey], *turns: int) -> list[ChunkKey]:
    return [key for key in keys if key.turn in turns]


def test_deleting_the_opening_of_a_question_takes_the_exchange(window: Window) -> None:
    exchange = of_turn(keys(window), 1, 2)
    deletion = actions.delete(window, QUESTION)
    assert sorted(deletion.keys) == sorted(exchange)
    assert deletion.question is None
    assert all(is_deleted(window, key) for key in exchange)
    assert of_turn(keys(window), 1, 2) == []
    assert "river" not in seen_text(window)
    assert len(of_turn(keys(window), 3, 4)) > 2


def test_deleting_the_newest_answer_hands_the_question_back(window: Window) -> None:
    exchange = of_turn(keys(window), 3, 4)
    deletion = actions.delete(window, ChunkKey(4, 1, "assistant"), exchange=True)
    assert deletion.question == "Tell me of oceans."
    assert sorted(deletion.keys) == sorted(exchange)
    assert of_turn(keys(window), 3, 4) == []


def test_deleting_another_chunk_takes_that_chunk_alone(window: Window) -> None:
    before = keys(window)
    for key in (ANSWER, ChunkKey(2, 1, "assistant"), ChunkKey(4, 1, "assistant")):
        assert actions.delete(window, key) == actions.Deletion((key,))
        assert is_deleted(window, key)
        before.remove(key)
        assert keys(window) == before


def test_what_is_deleted_or_nowhere_cannot_be_deleted(window: Window) -> None:
    actions.delete(window, QUESTION)
    for key in (QUESTION, ChunkKey(99, 0, "user")):
        with pytest.raises(InputError, match="not in the memory, or has already been deleted"):
            actions.delete(window, key)


@pytest.mark.parametrize("key", [QUESTION, ANSWER, SECOND_QUESTION, SECOND_ANSWER])
def test_a_deletion_can_be_taken_back_and_all_lives_as_it_did(window: Window, key: ChunkKey) -> None:
    before, seen = brightness(window), seen_text(window)
    deletion = actions.delete(window, key)
    assert seen_text(window) != seen
    actions.undelete(window, deletion.keys)
    assert brightness(window) == before
    assert seen_text(window) == seen
    assert not any(is_deleted(window, one) for one in deletion.keys)


def test_the_newest_exchange_is_the_newest_again_when_its_deletion_is_taken_back(window: Window) -> None:
    actions.undelete(window, actions.delete(window, SECOND_QUESTION).keys)
    assert continue_reply(window).text
    assert actions.regenerate(window).turn > 4
    assert stored_text(window.memory, 3) == ""


@pytest.mark.parametrize("opened_again", [False, True])
def test_after_the_newest_exchange_was_deleted_the_one_before_can_be_gone_on_with(
    hub: Hub, window: Window, opened_again: bool
) -> None:
    actions.delete(window, SECOND_QUESTION)
    if opened_again:
        hub.close_window(window)
        window = hub.open("river")
    before = stored_text(window.memory, 2)
    continue_reply(window)
    assert stored_text(window.memory, 2).startswith(before)
    assert len(stored_text(window.memory, 2)) > len(before)
    rewritten = actions.edit_reply(window, 2, "Rivers flow.")
    assert stored_text(window.memory, rewritten) == "Rivers flow."
    again = actions.regenerate(window)
    assert stored_text(window.memory, again.turn - 1) == "Tell me of rivers."
    actions.delete(window, ChunkKey(again.turn - 1, 0, "user"))
    with pytest.raises(InputError, match="does not have this question"):
        actions.regenerate(window)


def test_what_returned_from_another_window_is_never_the_newest_exchange_here(hub: Hub, window: Window) -> None:
    other = hub.open("brook")
    send(other, "Tell me of brooks.")
    foreign = ChunkKey(5, 0, "user")
    actions.resurrect(window, foreign)
    actions.undelete(window, actions.delete(window, foreign).keys)
    assert foreign in keys(window)
    again = actions.regenerate(window)
    assert stored_text(window.memory, again.turn - 1) == "Tell me of oceans."


def test_what_was_deleted_before_the_window_was_opened_again_is_buried_once_it_is_undeleted(
    hub: Hub, window: Window
) -> None:
    deletion = actions.delete(window, QUESTION)
    hub.close_window(window)
    window = hub.open("river")
    actions.undelete(window, deletion.keys)
    assert set(deletion.keys) <= window.life.burial_log.keys()
    actions.resurrect(window, QUESTION)
    assert QUESTION in window.life.context


def test_of_many_deletions_the_latest_come_back_to_life_and_earlier_ones_to_the_graveyard(window: Window) -> None:
    window._dropped = deque(maxlen=1)
    first, second = actions.delete(window, QUESTION), actions.delete(window, SECOND_QUESTION)
    actions.undelete(window, second.keys)
    actions.undelete(window, first.keys)
    assert set(keys(window)) == set(second.keys)
    assert set(first.keys) == window.life.burial_log.keys()


def test_after_a_deletion_the_model_reads_again_cleanly(window: Window) -> None:
    actions.delete(window, ANSWER)
    figures = send(window, "Go on.").figures
    assert (figures.kept, figures.restored) == (0, 0)
    assert figures.decoded == figures.context
    assert "river number 0" not in held_text(window)
    assert send(window, "And on.").figures.kept > 0


def test_after_the_newest_exchange_went_nothing_has_to_be_read_again(window: Window) -> None:
    """Nothing was read behind it."""
    actions.delete(window, SECOND_ANSWER, exchange=True)
    figures = send(window, "Go on.").figures
    assert figures.kept > 0
    assert "ocean" not in held_text(window)


def test_what_was_read_half_way_is_read_again_when_something_before_it_is_deleted(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stop while the model reads leaves what it has read so far."""
    window = hub.open("half")
    send(window, "Tell me of rivers.")
    context = window.engine_context
    read = context.sync

    def stopped_half_way(tokens: Sequence[Placed], **how: Any) -> SyncReport:
        read(tokens[:-8], **how)
        raise EngineStopped("Stopped.")

    with monkeypatch.context() as patch:
        patch.setattr(context, "sync", stopped_half_way)
        assert send(window, "Tell me of oceans.").ending == "stopped"
    assert "oceans" in held_text(window)
    actions.delete(window, QUESTION)
    assert send(window, "Go on.").figures.kept == 0


def test_the_newest_question_can_be_answered_anew(window: Window) -> None:
    reply = actions.regenerate(window)
    assert reply.turn == 6
    assert stored_text(window.memory, 5) == "Tell me of oceans."
    assert stored_text(window.memory, 4) == ""
    assert of_turn(keys(window), 3, 4) == []
    (superseded,) = {entry.origin for entry in window.memory.store.audit() if entry.action == "delete"}
    assert superseded == "superseded"
    actions.undelete(window, [SECOND_ANSWER])
    assert not is_deleted(window, SECOND_ANSWER)


def test_answering_anew_fits_where_the_exchange_itself_fitted(tmp_path: Path) -> None:
    settings = weave(with_section(PLAIN, "generation", max_tokens=150), budget_tokens=330)
    with opened_hub(tmp_path / "narrow.db", EchoEngine(["word " * 100] * 9, context_tokens=330), settings) as hub:
        window = hub.open("narrow")
        send(window, "word " * 20)
        assert actions.regenerate(window).ending == "length"
        assert actions.edit_question(window, 3, "other " * 20).ending == "length"


def test_a_question_can_be_asked_in_other_words(window: Window) -> None:
    reply = actions.edit_question(window, 1, "Tell me of brooks.")
    assert reply.turn == 6
    assert "rivers" not in seen_text(window)
    assert "brooks" in seen_text(window)
    assert is_deleted(window, QUESTION)
    assert held_text(window).count("river number") == 0


@pytest.mark.parametrize(("turn", "text", "match"), [(1, " ", "empty"), (77, "What?", "does not have this question")])
def test_what_cannot_be_asked_again_changes_nothing(window: Window, turn: int, text: str, match: str) -> None:
    before = living(window), window.memory.stats()
    with pytest.raises(InputError, match=match):
        actions.edit_question(window, turn, text)
    assert (living(window), window.memory.stats()) == before


def test_an_edit_that_is_too_long_changes_nothing(window: Window) -> None:
    before = living(window), window.memory.stats()
    with pytest.raises(InputError, match="does not fit"):
        actions.edit_question(window, 1, "word " * 4000)
    assert (living(window), window.memory.stats()) == before


def test_pins_keep_chunks_alive_until_they_are_taken_off(window: Window) -> None:
    actions.pin(window, ANSWER)
    assert window.life.context[ANSWER].is_pinned
    assert window.life.context[ANSWER].peak == 10_000
    window.set_overrides({"weave.budget_tokens": 120, "weave.keeps_by": "brightness"})
    for _ in range(3):
        send(window, "Go on.")
    assert ANSWER in window.life.context
    assert QUESTION in window.life.context
    assert ChunkKey(2, 1, "assistant") in window.life.burial_log
    actions.unpin(window, ANSWER)
    for _ in range(6):
        send(window, "Go on.")
    assert {ANSWER, QUESTION} <= window.life.burial_log.keys()


@pytest.mark.parametrize("action", [actions.pin, actions.unpin])
def test_only_what_lives_can_be_pinned(window: Window, action: object) -> None:
    with pytest.raises(InputError, match="is not in the context"):
        action(window, ChunkKey(99, 0, "user"))  # type: ignore[operator]


def test_what_is_brought_back_by_hand_is_bright_and_pinned_and_in_its_place(tmp_path: Path) -> None:
    with opened_hub(tmp_path / "small.db", settings=weave(budget_tokens=150, keeps_by="brightness")) as hub:
        window = hub.open("small")
        for number in range(6):
            send(window, f"Tell me of number {number}.\n\nAnd of its neighbours, too, please.")
        gone = ChunkKey(1, 1, "user")
        assert gone in window.life.burial_log
        actions.resurrect(window, gone)
        chunk = window.life.context[gone]
        assert set(chunk.brightness.tolist()) == {10_000.0}
        assert chunk.is_pinned
        assert keys(window)[:2] == [QUESTION, gone]
        assert gone not in window.life.burial_log
        assert window.life.size() <= 150 or "exceeds the budget" in notices(window)[-1]
        with pytest.raises(InputError, match="already in context"):
            actions.resurrect(window, gone)


def test_a_deleted_chunk_cannot_be_brought_back(window: Window) -> None:
    actions.delete(window, ANSWER)
    with pytest.raises(InputError, match="deleted"):
        actions.resurrect(window, ANSWER)


def test_what_does_not_fit_is_not_brought_back(tmp_path: Path) -> None:
    with opened_hub(tmp_path / "two.db") as large:
        send(large.open("large"), "word " * 200)
    with opened_hub(tmp_path / "two.db", EchoEngine(context_tokens=300)) as small:
        window = small.open("small")
        with pytest.raises(
            InputError, match=r"needs \d+ tokens with the openings it depends on, and \d+ of \d+ are in use"
        ):
            actions.resurrect(window, QUESTION)
        assert living(window) == []


def test_merged_chunks_live_as_one_with_what_their_tokens_earned(window: Window) -> None:
    first, second = window.life.context[ANSWER], window.life.context[ChunkKey(2, 1, "assistant")]
    first.state[:] = 3
    second.state[:] = 700
    seen, placed = seen_text(window), window.life.layout().placed
    assert actions.merge(window, second.key) == ANSWER
    assert second.key not in window.life.context
    merged = window.life.context[ANSWER]
    assert merged.brightness.tolist() == [3.0] * len(first.tokens) + [700.0] * len(second.tokens)
    assert seen_text(window) == seen
    assert window.life.layout().placed == placed
    assert send(window, "Go on.").figures.kept > 0


def test_merging_a_living_with_a_buried_chunk_brings_both_back_within_the_budget(window: Window) -> None:
    dim, left = ChunkKey(2, 2, "assistant"), ChunkKey(2, 1, "assistant")
    window.life.context[dim].state[:] = -5
    window.life.context[left].state[:] = 20_000
    budget = window.life.size() - 1
    window.set_overrides({"weave.budget_tokens": budget, "weave.recent_share": 0})
    assert set(window.life.burial_log) == {dim}
    assert actions.merge(window, dim) == left
    assert window.life.size() <= budget
    assert dim not in window.life.burial_log
    assert left in window.life.context or left in window.life.burial_log


def test_a_reply_goes_on_after_its_last_chunk_was_merged(window: Window) -> None:
    """The key of a merged chunk is never used again."""
    last = max(key for key in keys(window) if key.turn == 4)
    actions.merge(window, last)
    reply = continue_reply(window)
    assert stored_text(window.memory, 4).endswith(reply.text)
    assert max(keys(window)).index > last.index


def test_a_reply_that_is_buried_is_not_continued_without_its_beginning(window: Window) -> None:
    """Its question may still live, because it can be understood without the reply."""
    first = actions.delete(window, QUESTION)
    actions.delete(window, SECOND_QUESTION)
    actions.undelete(window, first.keys)
    window.set_overrides({"weave.budget_tokens": len(window.life.frames.beginning) + 30})
    assert keys(window) == [QUESTION]
    stored = stored_text(window.memory, 2)
    with pytest.raises(InputError, match="newest reply in the window river is archived"):
        continue_reply(window)
    assert stored_text(window.memory, 2) == stored


def test_there_must_be_a_chunk_to_merge_with(window: Window) -> None:
    with pytest.raises(InputError, match="is the first chunk of its turn"):
        actions.merge(window, ANSWER)


def test_burying_here_changes_nothing_in_another_window(hub: Hub, window: Window) -> None:
    other = hub.open("other")
    actions.resurrect(other, QUESTION)
    before = brightness(other), seen_text(other)
    window.set_overrides({"weave.budget_tokens": 60})
    for _ in range(4):
        send(window, "Go on.")
    assert QUESTION in window.life.burial_log
    assert (brightness(other), seen_text(other)) == before
    assert other.life.burial_log == {}


def test_a_deletion_elsewhere_takes_it_from_every_window_at_its_next_turn(hub: Hub, window: Window) -> None:
    other = hub.open("other")
    actions.resurrect(other, QUESTION)
    send(other, "What of it?")
    actions.delete(window, QUESTION)
    figures = send(other, "And now?").figures
    assert (figures.kept, figures.restored) == (0, 0)
    assert "Tell me of rivers" not in held_text(other)
    assert "Tell me of rivers" not in seen_text(other).split("assistant")[0]
    assert "deleted" in kinds(other)


def test_a_deletion_by_another_process_takes_what_was_buried_too(window: Window, tmp_path: Path) -> None:
    """The buried text was read once, and has left traces in everything that was read after it."""
    window.set_overrides({"weave.budget_tokens": 100})
    send(window, "Go on.")
    assert QUESTION in window.life.burial_log
    with opened_hub(tmp_path / "halo.db") as elsewhere:
        elsewhere.open("elsewhere").memory.delete([QUESTION], "elsewhere")
    assert send(window, "And on.").figures.kept == 0
    assert QUESTION not in window.life.burial_log


def test_what_others_merge_and_then_delete_is_gone_here_as_well(hub: Hub, window: Window) -> None:
    other = hub.open("other")
    part, before = ChunkKey(2, 2, "assistant"), ChunkKey(2, 1, "assistant")
    actions.resurrect(other, part)
    actions.unpin(other, part)
    other.set_overrides({"weave.budget_tokens": 60})
    send(other, "Go on.")
    assert part in other.life.burial_log
    actions.merge(window, part)
    actions.delete(window, before)
    assert send(other, "And on.").figures.kept == 0
    assert not {part, before} & other.life.burial_log.keys()


def test_what_was_forgotten_for_ever_leaves_the_rest_in_order(hub: Hub, window: Window) -> None:
    window.memory.forget([ANSWER], "elsewhere")
    send(window, "Go on.")
    assert [key.index for key in keys(window) if key.turn == 2] == [1, 2]
    other = hub.open("other")
    actions.resurrect(other, ChunkKey(2, 2, "assistant"))
    actions.resurrect(other, ChunkKey(2, 1, "assistant"))
    starts = {one.turn_start for each in (window, other) for one in each.life.context.of_turn(TurnKey(2, "assistant"))}
    assert len(starts) == 1
    assert send(other, "Go on.").ending == "end"


def test_clearing_the_memory_leaves_open_windows_with_a_clear_word(window: Window) -> None:
    window.memory.clear("elsewhere")
    with pytest.raises(Exception, match="The window river was deleted, here or by another program; open a new one"):
        send(window, "Go on.")
