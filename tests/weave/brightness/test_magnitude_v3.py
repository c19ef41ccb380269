"""Magnitude Voting v3 against its definition: above (1 − sink) / (n − 1) + int(attention / threshold), else − 1."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray

from halo_weave.weave.brightness import Sight
from halo_weave.weave.brightness.magnitude_v3 import MagnitudeV3
from halo_weave.weave.brightness.sink import Sink
from support.sights import random_sight, sight


def after(brightness: ArrayLike, *sights: Sight, sink: Sink = "first_token") -> list[float]:
    scorer = MagnitudeV3(sink)
    state = np.array([brightness], dtype=np.float32)
    for seen in sights:
        scorer.observe(state, seen)
    return [float(value) for value in state[0]]


def by_definition(brightness: NDArray[np.float32], seen: Sight, sink: int) -> list[float]:
    threshold = (1.0 - float(seen.attention[sink])) / (len(brightness) - 1)
    expected = []
    for place, (value, attention) in enumerate(zip(brightness.tolist(), seen.attention.tolist(), strict=True)):
        if place == sink or not seen.scored[place]:
            expected.append(value)
        elif attention > threshold:
            expected.append(min(10_000.0, value + int(attention / threshold)))
        else:
            expected.append(value - 1)
    return expected


def test_new_tokens_begin_at_ten_thousand() -> None:
    assert MagnitudeV3().fresh(3).tolist() == [[10_000, 10_000, 10_000]]


def test_the_threshold_is_an_even_share_of_what_the_sink_leaves() -> None:
    """The sink takes 40 %; each of 4 others would have 0.15. 0.31 is twice that, 0.16 once, 0.07 and 0.06 are below."""
    assert after([100] * 5, sight([0.4, 0.31, 0.16, 0.07, 0.06])) == [100, 102, 101, 99, 99]


def test_attention_equal_to_the_threshold_fades() -> None:
    assert after([100] * 5, sight([0.5, 0.125, 0.125, 0.125, 0.125])) == [100, 99, 99, 99, 99]


def test_only_the_whole_part_of_the_magnitude_counts() -> None:
    """Thresholds of 1/16: 0.234375 is 3.75 of them."""
    assert after([0] * 9, sight([0.5, 0.234375, *[0.265625 / 7] * 7]))[1] == 3


def test_brightness_is_capped_at_ten_thousand() -> None:
    seen = sight([0.4, 0.5, 0.05, 0.05])
    assert after([10_000, 9_999, 10_000, 10_000], seen, seen) == [10_000, 10_000, 9_998, 9_998]


def test_there_is_no_floor() -> None:
    assert after([0, 0, 0, 0], *[sight([0.4, 0.6, 0.0, 0.0])] * 50)[2:] == [-50, -50]


def test_the_decay_is_flat_so_differences_stay() -> None:
    assert after([0, 0, 9000, 3000, -20], *[sight([0.4, 0.6, 0, 0, 0])] * 10)[2:] == [8990, 2990, -30]


def test_what_is_not_scored_stays_but_counts_in_the_length() -> None:
    """The prompt and the current turn count in n, so the threshold is 0.5 / 5 = 0.1."""
    scored = [False, False, True, True, False, False]
    assert after([7] * 6, sight([0.5, 0.1, 0.11, 0.09, 0.1, 0.1], scored=scored)) == [7, 7, 8, 6, 7, 7]


def test_the_first_token_is_the_sink_even_if_another_has_more() -> None:
    assert after([5, 5, 5], sight([0.1, 0.8, 0.1])) == [5, 6, 4]


def test_the_largest_entry_can_be_the_sink_instead() -> None:
    """The threshold is 0.2 / 2 = 0.1; the first token is scored like any other."""
    assert after([5, 5, 5], sight([0.15, 0.8, 0.05]), sink="largest_entry") == [6, 5, 4]


def test_when_the_sink_takes_everything_all_others_fade() -> None:
    assert after([5, 5, 5], sight([1, 0, 0])) == [5, 4, 4]


def test_a_lone_token_is_the_sink() -> None:
    assert after([5], sight([1])) == [5]


def test_a_revival_above_the_cap_is_capped() -> None:
    assert MagnitudeV3().revived(1, 12_345.0).tolist() == [[10_000]]


@pytest.mark.parametrize("sink", ["first_token", "largest_entry"])
@given(seed=st.integers(0, 2**32 - 1), tokens=st.integers(2, 400))
def test_every_step_is_exactly_the_definition(sink: Sink, seed: int, tokens: int) -> None:
    chance = np.random.default_rng(seed)
    scorer = MagnitudeV3(sink)
    state = chance.integers(-50_000, 10_001, (1, tokens)).astype(np.float32)
    for _ in range(3):
        seen = random_sight(chance, tokens)
        place = 0 if sink == "first_token" else int(seen.attention.argmax())
        expected = by_definition(state[0], seen, place)
        scorer.observe(state, seen)
        assert state[0].tolist() == expected


@given(multiple=st.integers(2, 2000), tokens=st.integers(2001, 4000))
def test_magnitudes_next_to_a_whole_number_fall_on_the_right_side(multiple: int, tokens: int) -> None:
    """Single precision would round some of these quotients up to the whole number."""
    row = np.zeros(tokens, dtype=np.float32)
    threshold = 1.0 / (tokens - 1)
    row[1] = np.float32(multiple * threshold)
    exact = float(row[1]) / threshold
    scorer, state = MagnitudeV3(), np.zeros((1, tokens), dtype=np.float32)
    scorer.observe(state, sight(row))
    assert state[0, 1] == math.floor(exact)
