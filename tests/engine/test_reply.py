"""Shaping replies: the same rules for all engines that do their own sampling."""

from collections.abc import Iterator

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from halo_weave.engine import Cancellation, GenerationSettings, Step
from halo_weave.engine.reply import RawStep, shape_reply

TEXTS = st.text(alphabet=st.sampled_from("ab \néß世🦉"), max_size=40)


def raw(text: bytes, sizes: list[int], *, ends: bool = True) -> Iterator[RawStep]:
    start = number = 0
    while start < len(text):
        size = sizes[number % len(sizes)]
        yield RawStep(number, text[start : start + size], np.full(1, number, dtype=np.float32), ends=False)
        start, number = start + size, number + 1
    if ends:
        yield RawStep(99_999, b"<end>", None, ends=True)


def shaped(steps: Iterator[RawStep], stop: tuple[str, ...] = (), most: int = 1000) -> list[Step]:
    return list(shape_reply(steps, GenerationSettings(stop=stop, max_tokens=most), Cancellation()))


@given(TEXTS, st.lists(st.integers(1, 5), min_size=1))
def test_split_characters_are_held_together_and_nothing_is_lost(text: str, sizes: list[int]) -> None:
    steps = shaped(raw(text.encode(), sizes))
    assert "".join(step.text for step in steps) == text
    assert "\ufffd" not in "".join(step.text for step in steps)
    assert [step.token_id for step in steps[:-1]] == list(range(len(steps) - 1))
    assert steps[-1].finish_reason == "end"


@given(TEXTS, st.lists(st.integers(1, 5), min_size=1), st.lists(st.text("ab 世", min_size=1, max_size=3), max_size=3))
def test_the_text_before_the_first_stop_string_is_shown_whatever_the_splits(
    text: str, sizes: list[int], stop: list[str]
) -> None:
    found = [text.index(string) for string in stop if string in text]
    steps = shaped(raw(text.encode(), sizes), tuple(stop))
    shown = "".join(step.text for step in steps)
    if found:
        assert steps[-1].finish_reason == "stop_string"
        # A complete stop string ends the reply even if one that began earlier could still be completed.
        assert any(shown == text[: text.index(string)] for string in stop if string in text)
    else:
        assert steps[-1].finish_reason == "end"
        assert shown == text


@given(TEXTS, st.integers(1, 10))
def test_a_reply_is_never_longer_than_allowed(text: str, most: int) -> None:
    steps = shaped(raw(text.encode(), [3]), most=most)
    assert len([step for step in steps if step.token_id is not None]) <= most
    assert steps[-1].finish_reason in ("end", "length")
    assert all(step.finish_reason is None for step in steps[:-1])


def test_each_step_keeps_its_own_attention_while_it_is_held_back() -> None:
    steps = shaped(raw(b"one stop two", [1], ends=False), stop=("stopped",))
    attention = [float(step.attention[0]) for step in steps if step.attention is not None]
    assert attention == list(range(len("one stop two")))


def test_the_tokens_of_a_stop_string_are_no_part_of_the_reply() -> None:
    steps = shaped(raw(b"one stop two", [2]), stop=("stop",))
    assert [step.token_id for step in steps] == [0, 1, None]
    assert "".join(step.text for step in steps) == "one "


def test_a_full_context_ends_the_reply_as_too_long() -> None:
    steps = shaped(raw(b"one", [1], ends=False))
    assert steps[-1] == Step(None, "", None, "length")


def test_a_character_that_never_ends_is_shown_as_such() -> None:
    steps = shaped(raw("ab🦉".encode()[:-1], [1]))
    assert "".join(step.text for step in steps) == "ab\ufffd"


def test_stopping_shows_what_was_held_back() -> None:
    cancellation = Cancellation()

    def cancelled_after_two() -> Iterator[RawStep]:
        for number, step in enumerate(raw(b"sto", [1])):
            if number == 2:
                cancellation.cancel()
            yield step

    steps = list(shape_reply(cancelled_after_two(), GenerationSettings(stop=("stop",)), cancellation))
    assert [step.text for step in steps] == ["s", "t", ""]
    assert steps[-1].finish_reason == "stopped"
