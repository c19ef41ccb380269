"""Brightness while the model writes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_weave.engine.protocol import Attention
from halo_weave.weave.brightness.magnitude_v3 import MagnitudeV3
from halo_weave.weave.brightness_tracker import BrightnessTracker
from halo_weave.weave.layout import Layout, lay_out
from halo_weave.weave.living import TurnKey
from support.live_chunks import in_order, live_chunk
from weave.test_layout import Frames

QUESTION, ANSWER = TurnKey(1, "user"), TurnKey(2, "assistant")


def made_layout() -> Layout:
    chunks = [
        live_chunk(1, 0, first=0),
        live_chunk(1, 1, first=3, turn_start=0),
        live_chunk(2, 0, "assistant", first=9),
    ]
    return lay_out(in_order(chunks), Frames())


def shining_on(
    layout: Layout, *, current: tuple[TurnKey, ...] = (), scores_new: bool = False, room: int = 4
) -> BrightnessTracker:
    return BrightnessTracker(MagnitudeV3(), layout, current=current, room=room, scores_new=scores_new)


def even(count: int) -> Attention:
    return np.full(count, 1 / count, dtype=np.float32)


def looking_at(count: int, place: int) -> Attention:
    row = np.full(count, 0.1 / (count - 1), dtype=np.float32)
    row[place] = 0.9
    return row


def state_of(layout: Layout) -> list[list[float]]:
    return [chunk.brightness.tolist() for chunk, _, _ in layout.spans]


def test_what_is_looked_at_shines_and_the_rest_fades_once_it_is_settled() -> None:
    layout = made_layout()
    shining = shining_on(layout)
    for _ in range(50):
        assert shining.observe(looking_at(len(layout.placed), layout.spans[1].start))
    assert state_of(layout) == [[10_000.0] * 3] * 3
    shining.settle()
    assert state_of(layout)[0] == [9950.0] * 3
    assert state_of(layout)[1] == [10_000.0, 9950.0, 9950.0]


def test_current_turns_and_new_tokens_are_immune_unless_wished_otherwise() -> None:
    layout = made_layout()
    shining = shining_on(layout, current=(ANSWER,))
    shining.add()
    assert shining.observe(looking_at(len(layout.placed) + 1, layout.spans[0].start))
    shining.settle()
    assert state_of(layout)[2] == [10_000.0] * 3
    assert state_of(layout)[1] == [9999.0] * 3
    assert shining.new_state().tolist() == [[10_000.0]]
    scored = shining_on(made_layout(), scores_new=True)
    scored.add()
    assert scored.observe(looking_at(len(layout.placed) + 1, layout.spans[0].start))
    assert scored.new_state().tolist() == [[9999.0]]


@given(st.integers(0, 300))
def test_a_reply_may_be_longer_than_the_room_that_was_foreseen(count: int) -> None:
    layout = made_layout()
    shining = shining_on(layout, room=1)
    for _ in range(count):
        shining.add()
    assert shining.observe(even(len(layout.placed) + count))
    assert shining.new_state().shape == (1, count)
    shining.settle()
    assert all(len(chunk.tokens) == chunk.state.shape[1] for chunk, _, _ in layout.spans)


@pytest.mark.parametrize("kind", ["missing", "short", "long", "nan", "infinite", "negative", "sum", "square"])
def test_malformed_attention_changes_nothing_and_is_counted(kind: str) -> None:
    layout = made_layout()
    shining = shining_on(layout)
    row = even(len(layout.placed))
    bad = {
        "missing": None,
        "short": row[:-1],
        "long": even(len(row) + 1),
        "nan": np.where(np.arange(len(row)) == 3, np.float32(np.nan), row),
        "infinite": np.where(np.arange(len(row)) == 3, np.float32(np.inf), row),
        "negative": np.where(np.arange(len(row)) == 3, np.float32(-0.001), row),
        "sum": row * 2,
        "square": np.stack([row, row]),
    }[kind]
    assert not shining.observe(bad)
    assert shining.malformed == 1
    assert shining.last_problem
    shining.settle()
    assert state_of(layout) == [[10_000.0] * 3] * 3
    assert shining.observe(row)
    assert shining.malformed == 1
    assert shining.last_problem


def test_brightness_is_told_in_order_in_whole_numbers() -> None:
    layout = made_layout()
    for number, (chunk, _, _) in enumerate(layout.spans):
        chunk.state[0] = [number, number + 0.6, -40_000]
    shining = shining_on(layout)
    assert np.frombuffer(shining.word_brightness(), "<i2").tolist() == [0, 1, -32768, 1, 2, -32768, 2, 3, -32768]
    assert shining_on(lay_out([], Frames())).word_brightness() == b""
