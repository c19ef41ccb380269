"""Voting: the share of far steps in which a token got more than an even share."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_weave.weave.brightness.voting import Voting
from sights import random_sight, sight


def test_the_brightness_is_the_share_of_votes_won() -> None:
    scorer = Voting(minimum_distance=1, chance=1)
    state = scorer.fresh(4)
    for attention in ([0.4, 0.3, 0.2, 0.1], [0.4, 0.1, 0.3, 0.2], [0.4, 0.3, 0.2, 0.1], [0.4, 0.3, 0.3, 0.0]):
        scorer.observe(state, sight(attention))
    assert state[0, 1:].tolist() == pytest.approx([7500, 5000, 0])


def test_how_far_above_does_not_count() -> None:
    scorer = Voting(minimum_distance=1, chance=1)
    state = scorer.fresh(6)
    scorer.observe(state, sight([0.1, 0.6, 0.2, 0.1, 0.0, 0.0]))
    assert state[0, 1] == state[0, 2] == 10_000


def test_an_even_share_is_no_vote() -> None:
    scorer = Voting(minimum_distance=1, chance=1)
    state = scorer.fresh(5)
    scorer.observe(state, sight([0.5, 0.125, 0.125, 0.125, 0.125]))
    assert state[0, 1:].tolist() == [0, 0, 0, 0]


def test_there_is_no_vote_below_the_minimum_distance() -> None:
    """Of five tokens the third is 3 away."""
    scorer = Voting(minimum_distance=3, chance=1)
    state = scorer.fresh(5)
    scorer.observe(state, sight([0.5, 0.125, 0.125, 0.125, 0.125]))
    scorer.observe(state, sight([0.6, 0.3, 0.0, 0.1, 0.0]))
    assert state[0].tolist() == [10_000, 5000, 0, 10_000, 10_000]
    assert state[2].tolist() == [0, 2, 2, 0, 0]


@given(seed=st.integers(0, 2**32 - 1), steps=st.integers(1, 50))
def test_brightness_is_never_negative_nor_above_that_of_new_tokens(seed: int, steps: int) -> None:
    chance = np.random.default_rng(seed)
    scorer = Voting(minimum_distance=2, chance=1)
    state = scorer.fresh(15)
    for _ in range(steps):
        scorer.observe(state, random_sight(chance, 15))
    assert (state[0] >= -0.01).all()
    assert (state[0] <= 10_000.01).all()
