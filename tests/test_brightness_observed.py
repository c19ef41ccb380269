"""Observed attention: the mean per observation, in even shares; age by itself is worth nothing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_weave.weave.brightness.observed import Observed
from sights import random_sight, sight


def test_the_brightness_is_a_thousand_for_each_even_share_received() -> None:
    """The sink takes 0.2, an even share of the rest is 0.2: the others had 2, 1, 1/2 and 1/2 of it."""
    scorer = Observed(chance=1)
    state = scorer.fresh(5)
    for _ in range(10):
        scorer.observe(state, sight([0.2, 0.4, 0.2, 0.1, 0.1]))
    assert state[0, 1:].tolist() == pytest.approx([2000, 1000, 500, 500])


def test_a_token_stays_bright_until_it_had_its_chance() -> None:
    scorer = Observed(chance=4)
    state = scorer.fresh(3)
    shown = []
    for _ in range(5):
        scorer.observe(state, sight([0.5, 0.5, 0]))
        shown.append(float(state[0, 2]))
    assert shown == [10_000, 10_000, 10_000, 0, 0]


def test_only_steps_in_which_it_was_scored_count_towards_the_chance_and_the_mean() -> None:
    scorer = Observed(chance=2)
    state = scorer.fresh(3)
    for _ in range(10):
        scorer.observe(state, sight([0.5, 0, 0.5], scored=[True, True, False]))
    assert state[0].tolist() == [10_000, 0, 10_000]
    for _ in range(2):
        scorer.observe(state, sight([0.5, 0.25, 0.25]))
    assert state[0, 2] == 1000


def test_what_came_later_and_gets_as_much_is_as_bright() -> None:
    scorer = Observed(chance=2)
    state = scorer.fresh(5)
    for _ in range(500):
        scorer.observe(state, sight([0.2] * 5))
    state = np.concatenate([state, scorer.fresh(1)], axis=1)
    for _ in range(2):
        scorer.observe(state, sight([1 / 6] * 6))
    assert state[0, 1:].tolist() == pytest.approx([1000] * 5)


def test_a_revived_token_goes_on_from_its_brightness_as_if_it_had_its_chance() -> None:
    scorer = Observed(chance=4)
    state = scorer.revived(3, 3000.0)
    for _ in range(4):
        scorer.observe(state, sight([0.5, 0.25, 0.25]))
    assert state[0, 1] == pytest.approx((4 * 3000 + 4 * 1000) / 8)


@given(seed=st.integers(0, 2**32 - 1), steps=st.integers(1, 40))
def test_the_brightness_is_the_mean_of_all_observations(seed: int, steps: int) -> None:
    chance = np.random.default_rng(seed)
    scorer = Observed(chance=1)
    state = scorer.fresh(12)
    total, count = np.zeros(12), np.zeros(12)
    for _ in range(steps):
        seen = random_sight(chance, 12)
        scorer.observe(state, seen)
        share = (1 - float(seen.attention[0])) / 11
        total += np.where(seen.scored, seen.attention / share, 0)
        count += seen.scored
    observed = (count > 0) & (np.arange(12) > 0)
    np.testing.assert_allclose(state[0, observed], 1000 * total[observed] / count[observed], rtol=1e-4)


def test_when_the_chance_is_made_shorter_only_tokens_that_are_scored_take_notice() -> None:
    state = Observed(chance=9).fresh(3)
    for _ in range(5):
        Observed(chance=9).observe(state, sight([0.5, 0.25, 0.25]))
    Observed(chance=2).observe(state, sight([0.5, 0.25, 0.25], scored=[False, True, False]))
    assert state[0].tolist() == [10_000, 1000, 10_000]
