"""Cumulative attention: it decays by half per half-life, and attention from nearby counts less."""

import numpy as np
import pytest

from halo_weave.weave.brightness.cumulative import Cumulative
from support.sights import sight

EVEN = [0.2, 0.2, 0.2, 0.2, 0.2]


def brightness_after(scorer: Cumulative, start: float, steps: int, attention: list[float]) -> list[float]:
    state = scorer.revived(len(attention), start)
    for _ in range(steps):
        scorer.observe(state, sight(attention))
    return [float(value) for value in state[0]]


def test_without_attention_half_is_left_after_a_half_life() -> None:
    scorer = Cumulative(half_life=100)
    assert brightness_after(scorer, 10_000, 100, [0.5, 0.5, 0, 0])[2] == pytest.approx(5_000, rel=1e-4)
    assert brightness_after(scorer, 10_000, 200, [0.5, 0.5, 0, 0])[2] == pytest.approx(2_500, rel=1e-4)


def test_even_attention_that_is_kept_up_leads_to_one_thousand_from_above_and_below() -> None:
    scorer = Cumulative(half_life=10, half_weight_distance=0)
    assert brightness_after(scorer, 10_000, 400, EVEN)[1:] == pytest.approx([1000] * 4, rel=1e-3)
    assert brightness_after(scorer, 0, 400, EVEN)[1:] == pytest.approx([1000] * 4, rel=1e-3)


def test_attention_counts_by_its_size() -> None:
    scorer = Cumulative(half_life=10, half_weight_distance=0)
    doubled = brightness_after(scorer, 0, 400, [0.2, 0.4, 0.2, 0.1, 0.1])
    assert doubled[1:] == pytest.approx([2000, 1000, 500, 500], rel=1e-3)


def test_attention_at_the_half_weight_distance_counts_half() -> None:
    """Of five tokens, the second is 4 away; the last, 1 away, counts a fifth."""
    scorer = Cumulative(half_life=10, half_weight_distance=4)
    shown = brightness_after(scorer, 0, 400, EVEN)
    assert shown[1] == pytest.approx(500, rel=1e-3)
    assert shown[4] == pytest.approx(200, rel=1e-3)


def test_weights_follow_the_distance_when_the_context_grows() -> None:
    """One scorer in growing contexts: distance is counted from the end of each."""
    scorer = Cumulative(half_life=1, half_weight_distance=10)
    for tokens in (3, 50, 5000, 40):
        state = scorer.revived(tokens, 0.0)
        scorer.observe(state, sight(np.full(tokens, 1 / tokens)))
        distance = tokens - np.arange(1, tokens)
        np.testing.assert_allclose(state[0, 1:], 500 * distance / (distance + 10), rtol=1e-3)


def test_recent_attention_counts_for_more_than_the_same_attention_long_ago() -> None:
    scorer = Cumulative(half_life=10, half_weight_distance=0)
    state = scorer.revived(3, 0.0)
    for attention in ([0.2, 0.7, 0.1], [0.2, 0.1, 0.7]):
        for _ in range(20):
            scorer.observe(state, sight(attention))
    assert state[0, 2] > state[0, 1]
