"""Several windows, their names and settings, and the traces of deleted text in the model."""

import queue
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from halo_weave.engine.echo import EchoEngine
from halo_weave.engine.llamacpp.context import LlamaContext
from halo_weave.engine.llamacpp.engine import LlamaEngine
from halo_weave.errors import InputError, SettingError, StoreConflict, WindowBusy
from halo_weave.records.chunks import ChunkKey
from halo_weave.session.actions import actions
from halo_weave.session.actions.following import Following, catch_up
from halo_weave.session.hub import Hub
from halo_weave.session.turn.turn import continue_reply, send
from halo_weave.session.window.events import Event
from halo_weave.session.window.window import Window
from support.windows import (
    PLAIN,
    Happening,
    brightness,
    held_text,
    kinds,
    living,
    notices,
    opened_hub,
    seen_text,
    stored_text,
    with_section,
)

QUESTION = ChunkKey(1, 0, "user")
SHORT = with_section(PLAIN, "generation", max_tokens=8, temperature=0.0)


@pytest.fixture
def happening() -> Happening:
    return Happening()


@pytest.fixture
def hub(tmp_path: Path, happening: Happening) -> Iterator[Hub]:
    with opened_hub(tmp_path / "halo.db", EchoEngine(attention=happening)) as hub:
        yield hub


def names(hub: Hub) -> list[tuple[str, bool]]:
    return [(listing.name, listing.is_open) for listing in hub.windows()]


def test_a_window_is_found_by_its_name_and_by_its_id_and_opened_once(hub: Hub) -> None:
    window = hub.open("river")
    assert hub.open("river") is window
    assert hub.open(window.id) is window
    assert names(hub) == [("river", True)]
    hub.close_window(window)
    assert names(hub) == [("river", False)]


def test_windows_that_were_saved_last_come_first(hub: Hub) -> None:
    first, _ = hub.open("first"), hub.open("second")
    assert [name for name, _ in names(hub)] == ["second", "first"]
    send(first, "Hello.")
    assert [name for name, _ in names(hub)] == ["first", "second"]


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 201])
def test_a_name_has_to_be_visible_and_not_too_long(hub: Hub, name: str) -> None:
    window = hub.open("good")
    with pytest.raises(InputError, match="1 to 200 printable characters"):
        hub.open(name)
    with pytest.raises(InputError, match="1 to 200 printable characters"):
        hub.rename(window, name)
    assert names(hub) == [("good", True)]


def test_a_window_can_be_renamed_but_not_to_a_name_that_is_taken(hub: Hub) -> None:
    window, _ = hub.open("river"), hub.open("sea")
    with pytest.raises(InputError, match="named sea already"):
        hub.rename(window, "sea")
    hub.rename(window, "brook")
    assert hub.open("brook") is window
    assert kinds(window) == ["changed"]


def test_deleting_a_window_leaves_what_was_said_in_it(hub: Hub) -> None:
    window = hub.open("river")
    send(window, "How long is the river?")
    hub.delete_window("river")
    assert names(hub) == []
    assert stored_text(window.memory, 1) == "How long is the river?"
    with pytest.raises(InputError, match="no window river"):
        hub.delete_window("river")
    assert living(hub.open("river")) == []


def test_a_window_that_answers_cannot_be_deleted_and_stays_open(hub: Hub, happening: Happening) -> None:
    window = hub.open("river")
    refused: list[bool] = []

    def delete() -> None:
        with pytest.raises(WindowBusy):
            hub.delete_window("river")
        refused.append(hub.open("river") is window)

    happening.at[3] = delete
    send(window, "How long is the river?")
    assert refused == [True]


def test_each_window_has_its_own_system_prompt_and_settings(hub: Hub) -> None:
    pirate, scientist = hub.open("pirate"), hub.open("scientist")
    pirate.set_overrides({"chat.system_prompt": "Talk like a pirate.", "generation.max_tokens": 5})
    assert send(pirate, "Hello there, friend.").ending == "length"
    assert send(scientist, "Hello there, friend.").ending == "end"
    assert "pirate" in seen_text(pirate)
    assert "pirate" not in seen_text(scientist)
    hub.close_window(pirate)
    assert "pirate" in seen_text(hub.open("pirate"))


@pytest.mark.parametrize("overrides", [{"weave.nonsense": 1}, {"generation.max_tokens": 0}, {"nothing": 1}])
def test_a_setting_that_is_unknown_or_out_of_range_is_refused(hub: Hub, overrides: dict[str, object]) -> None:
    window = hub.open("river")
    with pytest.raises(SettingError):
        window.set_overrides(overrides)
    assert window.overrides == {}


def test_a_smaller_budget_holds_at_once(hub: Hub) -> None:
    window = hub.open("river")
    for _ in range(4):
        send(window, "How long is the river?")
    window.set_overrides({"weave.budget_tokens": 120})
    assert window.life.size() <= 120
    assert window.life.burial_log


def test_another_system_prompt_is_read_with_all_that_follows_it(hub: Hub) -> None:
    window = hub.open("river")
    send(window, "How long is the river?")
    window.set_overrides({"chat.system_prompt": "Talk like a pirate."})
    assert send(window, "And now?").figures.kept == 0
    window.set_overrides({"chat.system_prompt": "Talk like a pirate.", "generation.max_tokens": 99})
    assert send(window, "And now?").figures.kept > 0


def test_another_scorer_goes_on_from_the_brightness_there_is(hub: Hub) -> None:
    window = hub.open("river")
    for _ in range(2):
        send(window, "How long is the river?")
    before = {key: max(row) for key, row in brightness(window).items()}
    window.set_overrides({"brightness.scorer": "cumulative"})
    assert {key: max(row) for key, row in brightness(window).items()} == pytest.approx(before)
    assert send(window, "And the sea?").figures.malformed == 0


def test_what_comes_from_a_later_turn_of_another_window_stands_behind_a_continued_reply(hub: Hub) -> None:
    window, other = hub.open("one"), hub.open("two")
    window.set_overrides({"generation.max_tokens": 6})
    assert send(window, "How long is the river?").ending == "length"
    send(other, "The sea is deep.")
    actions.resurrect(window, ChunkKey(3, 0, "user"))
    reply = continue_reply(window)
    assert reply.text
    assert [key.turn for key, _ in living(window)] == [1, 2, 2, 3]
    assert send(window, "And now?").text


def test_what_others_say_while_the_memory_is_searched_does_not_return_before_its_time(hub: Hub) -> None:
    window, other = hub.open("one"), hub.open("two")
    window.set_overrides({"weave.resurrection": True})
    spoken: list[str] = []

    def speak_meanwhile(event: Event) -> None:
        if event.kind == "status" and not spoken:
            spoken.append(send(other, "The sea is deep.").text)

    window.log.listen(speak_meanwhile)  # the first event comes between the reservation and the search
    assert send(window, "How deep is the sea?").ending == "end"
    assert spoken
    assert {key.turn for key, _ in living(window)} == {1, 2}


def test_a_window_that_another_process_changed_catches_up_and_carries_on(tmp_path: Path) -> None:
    with opened_hub(tmp_path / "halo.db") as one, opened_hub(tmp_path / "halo.db") as two:
        first, second = one.open("river"), two.open("river")
        for turn, (window, text) in enumerate([(first, "How long?"), (second, "How deep?"), (first, "How wide?")]):
            before = window.log.last_number
            assert send(window, text).ending == "end"
            assert ("reloaded" in kinds(window, before)) == (turn > 0)
            assert [one.text for one in window.life.context if one.key.role == "user"][-1] == text
        assert len(living(first)) == 6
        actions.pin(second, QUESTION)
        assert living(second) == living(first)
        actions.unpin(first, QUESTION)
        first.set_overrides({"generation.max_tokens": 5})
        second.rename("brook")
        assert (second.overrides, second.memory.store.verify()) == ({"generation.max_tokens": 5}, [])


def test_what_another_process_deleted_leaves_no_trace_in_the_model_of_this_one(tmp_path: Path) -> None:
    with opened_hub(tmp_path / "halo.db") as one, opened_hub(tmp_path / "halo.db") as two:
        first = one.open("river")
        for text in ("How long?", "How deep?"):
            send(first, text)
        second = two.open("river")
        actions.delete(second, QUESTION)
        send(second, "How wide?")
        send(first, "And how old?")
        assert "How long?" not in held_text(first)
        assert "How deep?" in held_text(first)


def test_a_window_that_another_process_deleted_says_so_and_writes_nothing(tmp_path: Path) -> None:
    with opened_hub(tmp_path / "halo.db") as one, opened_hub(tmp_path / "halo.db") as two:
        window = one.open("river")
        two.delete_window("river")
        before = window.memory.stats()
        with pytest.raises(StoreConflict, match="The window river was deleted, here or by another program"):
            send(window, "Me too!")
        assert window.memory.stats() == before
        assert (window.doing, two.windows()) == ("", [])


def test_a_reply_that_another_process_took_for_cut_off_is_kept_to_its_end(tmp_path: Path) -> None:
    happening = Happening()
    with opened_hub(tmp_path / "halo.db", EchoEngine(["word " * 60, "Yes."], attention=happening)) as one:
        window = one.open("river")

        def open_elsewhere() -> None:
            while not window.memory.store.journal(window.id)[1:]:
                pass
            with opened_hub(tmp_path / "halo.db") as two:
                two.open("river")

        happening.at[20] = open_elsewhere
        assert send(window, "How long is the river?").text == "word " * 60
        assert stored_text(window.memory, 2) == "word " * 60
        assert "".join(text for key, text in living(window) if key.turn == 2) == "word " * 60
        assert send(window, "Is that so?").text == "Yes."
        assert window.memory.store.verify() == []


def test_what_two_programs_say_in_a_window_at_the_same_time_is_all_there(tmp_path: Path) -> None:
    happening = Happening()
    with (
        opened_hub(tmp_path / "halo.db", EchoEngine(["word " * 60, "Yes."], attention=happening)) as one,
        opened_hub(tmp_path / "halo.db") as two,
    ):
        first, second = one.open("river"), two.open("river")
        send(second, "Where is it?")

        def speak_elsewhere() -> None:
            send(second, "How deep?")
            second.rename("brook")
            actions.pin(second, ChunkKey(1, 0, "user"))

        happening.at[20] = speak_elsewhere
        before = first.log.last_number
        assert send(first, "How long?").text == "word " * 60
        assert "error" not in kinds(first, before)
        said = [text for key, text in living(first) if key.role == "user"]
        assert said == ["Where is it?", "How long?", "How deep?"]
        assert (first.name, first.messages) == ("brook", 3)
        assert first.memory.store.verify() == []
        catch_up(second)
        assert living(second) == living(first)
        assert send(second, "Is that all?").ending == "end"
        assert [text for key, text in living(second) if key.role == "user"][-1] == "Is that all?"


def test_an_idle_window_catches_up_with_another_program_by_itself(tmp_path: Path) -> None:
    with opened_hub(tmp_path / "halo.db") as one, opened_hub(tmp_path / "halo.db") as two:
        first, second = one.open("river"), two.open("river")
        said: queue.SimpleQueue[list[str]] = queue.SimpleQueue()
        with closing(
            Following(two.open_windows, lambda _, chunks: said.put([chunk.text for chunk in chunks]), look_every_s=0.01)
        ):
            send(first, "How long?")
            heard: list[str] = []
            while len(heard) < 2:
                heard += said.get(timeout=60)
        assert heard == [text for _, text in living(first)]
        assert living(second) == living(first)
        assert notices(second) == []


@pytest.fixture
def real(tmp_path: Path, llama_engine: LlamaEngine) -> Iterator[Window]:
    """Three exchanges with the bundled model."""
    with opened_hub(tmp_path / "real.db", llama_engine, SHORT) as hub:
        window = hub.open("real")
        for text in ("My name is Xenophon.", "I live in Byzantium.", "What is my name?"):
            send(window, text)
        yield window


def logits_now(window: Window) -> np.ndarray:
    window.sync(window.life.layout())
    assert isinstance(window.engine_context, LlamaContext)
    return window.engine_context.logits()


def logits_of_fresh_context(window: Window) -> np.ndarray:
    fresh = window.engine.open_context()
    try:
        fresh.sync(window.life.layout().placed)
        assert isinstance(fresh, LlamaContext)
        return fresh.logits().copy()
    finally:
        fresh.close()


def test_after_a_deletion_the_model_is_as_if_it_had_never_read_it(real: Window) -> None:
    actions.delete(real, QUESTION)
    np.testing.assert_array_equal(logits_now(real), logits_of_fresh_context(real))


def test_whatever_the_newest_exchange_said_nothing_is_left_of_it_in_the_model(real: Window) -> None:
    """Nothing is read again, so the remaining text was read in portions: bit for bit equal only among themselves."""
    left = []
    for text in ("I hate the sea.", "You love my cat."):
        send(real, text)
        assert real.newest is not None
        actions.delete(real, ChunkKey(real.newest.turn_assistant, 0, "assistant"))
        left.append(logits_now(real).copy())
    np.testing.assert_array_equal(left[0], left[1])
    assert send(real, "Where do I live?").figures.kept > 20


def test_burying_leaves_a_trace_that_deleting_takes_away(real: Window) -> None:
    """Proves that the two tests above can fail."""
    real.life.drop([QUESTION])
    assert np.abs(logits_now(real) - logits_of_fresh_context(real)).max() > 0.05
    actions.delete(real, QUESTION)
    np.testing.assert_array_equal(logits_now(real), logits_of_fresh_context(real))
