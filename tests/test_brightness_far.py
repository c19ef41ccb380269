"""Far attention: what words get from at least the minimum distance, per observation."""

import numpy as np

from halo_weave.weave.brightness.far import Far
from sights import sight

EVEN = np.full(6, 1 / 6)


def test_only_tokens_at_least_the_minimum_distance_away_are_observed() -> None:
    """Of six tokens the third is 4 away and the fourth 3."""
    scorer = Far(minimum_distance=4, chance=1)
    state = scorer.fresh(6)
    scorer.observe(state, sight(EVEN))
    assert np.round(state[0]).tolist() == [10_000, 1000, 1000, 10_000, 10_000, 10_000]
    assert state[2].tolist() == [0, 1, 1, 0, 0, 0]


def test_a_context_shorter_than_the_distance_teaches_nothing() -> None:
    scorer = Far(minimum_distance=7, chance=1)
    state = scorer.fresh(6)
    scorer.observe(state, sight(EVEN))
    np.testing.assert_array_equal(state, scorer.fresh(6))


def test_what_is_no_word_fades_however_much_it_is_looked_at() -> None:
    """Otherwise a comma, never observed, would stay bright and hold up its chunk for ever."""
    scorer = Far(minimum_distance=1, chance=1)
    state = scorer.fresh(4)
    scorer.observe(state, sight([0.1, 0.7, 0.1, 0.1], words=[True, False, True, True]))
    assert state[0, 1] == 0
    assert state[0, 2] > 0


def test_attention_from_nearby_before_does_not_count_later() -> None:
    scorer = Far(minimum_distance=3, chance=1)
    state = scorer.fresh(3)
    for _ in range(10):
        scorer.observe(state, sight([0.2, 0.4, 0.4]))
    state = np.concatenate([state, scorer.fresh(3)], axis=1)
    scorer.observe(state, sight([0.2, 0.0, 0.16, 0.16, 0.24, 0.24]))
    assert np.round(state[0, 1:4]).tolist() == [0, 1000, 1000]
