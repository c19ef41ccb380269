"""The contract of every scorer; each goes through all of these tests."""

from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_weave.weave.brightness import NEW_BRIGHTNESS, ScorerName, ScorerSettings, Sight, make_scorer, problem
from halo_weave.weave.brightness.sink import Sink
from support.sights import SCORERS, random_sight, sight, small_scorer

every_scorer = pytest.mark.parametrize("name", SCORERS)
every_sink = pytest.mark.parametrize("sink", get_args(Sink))
seeds = st.integers(0, 2**32 - 1)


@every_scorer
def test_settings_give_the_scorer_they_name(name: ScorerName) -> None:
    assert make_scorer(ScorerSettings(scorer=name)).name == name


@every_scorer
@pytest.mark.parametrize("count", [0, 1, 7])
def test_state_has_a_float32_column_for_each_token_and_the_brightness_in_its_first_row(
    name: ScorerName, count: int
) -> None:
    scorer = small_scorer(name)
    for state, brightness in ((scorer.fresh(count), NEW_BRIGHTNESS), (scorer.revived(count, 255.0), 255.0)):
        assert state.shape == (scorer.lanes, count)
        assert state.dtype == np.float32
        assert (state[0] == brightness).all()


@every_scorer
@given(seed=seeds, tokens=st.integers(1, 40))
def test_a_step_changes_the_state_in_place_and_nothing_else(name: ScorerName, seed: int, tokens: int) -> None:
    scorer = small_scorer(name)
    state, seen = scorer.fresh(tokens), random_sight(np.random.default_rng(seed), tokens)
    before = [part.copy() for part in seen]
    scorer.observe(state, seen)
    assert state.dtype == np.float32
    assert np.isfinite(state).all()
    for part, untouched in zip(seen, before, strict=True):
        np.testing.assert_array_equal(part, untouched)


@every_scorer
@given(seed=seeds)
def test_a_part_of_a_larger_array_can_be_scored(name: ScorerName, seed: int) -> None:
    """A step of a reply covers fewer tokens than the state has room for."""
    scorer, chance = small_scorer(name), np.random.default_rng(seed)
    whole, alone = scorer.fresh(30), scorer.fresh(20)
    for _ in range(4):
        seen = random_sight(chance, 20)
        scorer.observe(whole[:, :20], seen)
        scorer.observe(alone, seen)
    np.testing.assert_array_equal(whole[:, :20], alone)
    np.testing.assert_array_equal(whole[:, 20:], scorer.fresh(10))


@every_scorer
@every_sink
@given(seed=seeds, brightness=st.floats(-1000, 10_000, width=32))
def test_what_is_not_scored_and_the_sink_never_change(
    name: ScorerName, sink: Sink, seed: int, brightness: float
) -> None:
    scorer, chance = small_scorer(name, sink), np.random.default_rng(seed)
    state = np.concatenate([scorer.fresh(10), scorer.revived(10, brightness)], axis=1)
    for _ in range(6):
        seen, before = random_sight(chance, 20), state.copy()
        place = 0 if sink == "first_token" else int(seen.attention.argmax())
        scorer.observe(state, seen)
        np.testing.assert_array_equal(state[:, ~seen.scored], before[:, ~seen.scored])
        np.testing.assert_array_equal(state[:, place], before[:, place])


@every_scorer
@given(seed=seeds)
def test_the_same_steps_give_the_same_state_in_any_scorer_of_the_kind(name: ScorerName, seed: int) -> None:
    """Even after another, longer context: a scorer keeps no state of its own."""
    used, unused = small_scorer(name), small_scorer(name)
    for _ in range(3):
        used.observe(used.fresh(2000), random_sight(np.random.default_rng(0), 2000))
    states = []
    for scorer in (used, unused):
        chance, state = np.random.default_rng(seed), scorer.fresh(25)
        for _ in range(6):
            scorer.observe(state, random_sight(chance, 25))
        states.append(state)
    np.testing.assert_array_equal(states[0], states[1])


@every_scorer
@every_sink
@given(seed=seeds, place=st.integers(4, 15), more=st.floats(0, 1), steps=st.integers(1, 12))
def test_a_token_that_is_looked_at_more_never_ends_lower(
    name: ScorerName, sink: Sink, seed: int, place: int, more: float, steps: int
) -> None:
    """Both runs have the same steps, but in one the token also gets part of an unscored token's attention."""
    scorer, chance = small_scorer(name, sink), np.random.default_rng(seed)
    less_state, more_state = scorer.fresh(20), scorer.fresh(20)
    for _ in range(steps):
        seen = random_sight(chance, 20)
        seen.scored[1] = False
        less, richer = seen.attention, seen.attention.copy()
        moved = np.float32(more) * less[1]
        if less[place] + moved < less[0]:  # the sink stays the largest
            richer[place] += moved
            richer[1] -= moved
        scorer.observe(less_state, seen)
        scorer.observe(more_state, seen._replace(attention=richer))
    assert more_state[0, place] >= less_state[0, place] * (1 - 1e-5) - 1e-5


@given(seed=seeds)
def test_the_order_of_tokens_does_not_matter_to_magnitude_v3(seed: int) -> None:
    scorer, chance = small_scorer("magnitude_v3"), np.random.default_rng(seed)
    order = np.concatenate([[0], 1 + chance.permutation(19)])
    plain, shuffled = scorer.fresh(20), scorer.fresh(20)
    for _ in range(6):
        seen = random_sight(chance, 20)
        scorer.observe(plain, seen)
        scorer.observe(shuffled, Sight(seen.attention[order], seen.scored[order]))
    np.testing.assert_array_equal(plain[:, order], shuffled)


@every_scorer
@given(seed=seeds, cut=st.integers(0, 18))
def test_saving_and_restoring_at_any_step_changes_nothing(
    name: ScorerName, seed: int, cut: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = Path(tmp_path_factory.getbasetemp()) / "state.npy"
    chance, scorer = np.random.default_rng(seed), small_scorer(name)
    steps = [random_sight(chance, 20) for _ in range(18)]
    straight = scorer.fresh(20)
    for seen in steps:
        scorer.observe(straight, seen)
    saved = scorer.fresh(20)
    for seen in steps[:cut]:
        scorer.observe(saved, seen)
    np.save(file, saved)
    restored, reopened = np.load(file), small_scorer(name)
    for seen in steps[cut:]:
        reopened.observe(restored, seen)
    np.testing.assert_array_equal(restored, straight)


@every_scorer
def test_a_new_token_is_among_the_brightest_until_it_was_looked_at(name: ScorerName) -> None:
    """Old tokens have long had an even share each; none is brighter than a new one."""
    scorer = small_scorer(name)
    state = scorer.fresh(20)
    for _ in range(200):
        scorer.observe(state, sight(np.full(20, 0.05)))
    joined = np.concatenate([state, scorer.fresh(1)], axis=1)
    scorer.observe(joined, sight(np.full(21, 1 / 21)))
    far = joined[0, 1:-5]
    assert (joined[0, -1] >= far).all()


@every_scorer
def test_a_revived_token_has_to_prove_itself(name: ScorerName) -> None:
    scorer = small_scorer(name)
    state = scorer.revived(20, 3000.0)
    attention = np.full(20, 0.01)
    attention[1] = 1 - attention[2:].sum() - attention[0]
    for _ in range(100):
        scorer.observe(state, sight(attention))
    assert state[0, 1] > 3000
    assert (state[0, 2:16] < 3000).all()


@every_scorer
@every_sink
@pytest.mark.parametrize("attention", [[1.0], [1.0, 0.0], [1.0, 0.0, 0.0, 0.0, 0.0, 0.0], [1.004, 0.001, 0, 0, 0, 0]])
def test_a_sink_that_takes_everything_leaves_numbers(name: ScorerName, sink: Sink, attention: list[float]) -> None:
    scorer = small_scorer(name, sink)
    state = scorer.fresh(len(attention))
    for _ in range(6):
        scorer.observe(state, sight(attention))
    assert np.isfinite(state).all()
    assert (state[0] <= NEW_BRIGHTNESS).all()


@every_scorer
def test_numbers_stay_finite_and_normal_for_100_000_steps(name: ScorerName) -> None:
    """One token gets nearly all, one a little, one almost none, and the others nothing, all the time."""
    scorer = small_scorer(name)
    state = scorer.fresh(8)
    seen = sight([0.2, 0.7, 0.1, 1e-30, 0.0, 0.0, 0.0, 0.0])
    for _ in range(100_000):
        scorer.observe(state, seen)
    assert np.isfinite(state).all()
    assert ((state == 0) | (np.abs(state) >= np.finfo(np.float32).tiny)).all()
    assert state[0, 1] > state[0, 2] >= state[0, 3] >= state[0, 4]


@every_scorer
@pytest.mark.parametrize(("lanes_off", "columns_off"), [(0, 1), (0, -1), (1, 0)])
def test_a_state_that_does_not_match_is_refused_and_not_changed(
    name: ScorerName, lanes_off: int, columns_off: int
) -> None:
    scorer = small_scorer(name)
    state = np.full((scorer.lanes + lanes_off, 6 + columns_off), 5, dtype=np.float32)
    with pytest.raises(ValueError, match="do not match"):
        scorer.observe(state, sight([0.5, 0.1, 0.1, 0.1, 0.1, 0.1]))
    assert (state == 5).all()


@every_scorer
def test_a_mask_of_another_length_is_refused(name: ScorerName) -> None:
    scorer = small_scorer(name)
    state, seen, mask = scorer.fresh(4), sight([0.25] * 4), np.ones(1, dtype=np.bool_)
    with pytest.raises(ValueError, match="do not match"):
        scorer.observe(state, seen._replace(scored=mask))
    np.testing.assert_array_equal(state, scorer.fresh(4))


@every_scorer
@given(seed=seeds, tokens=st.integers(1, 60))
def test_what_passes_the_check_never_makes_a_number_bad(name: ScorerName, seed: int, tokens: int) -> None:
    chance = np.random.default_rng(seed)
    scorer = small_scorer(name)
    state = scorer.fresh(tokens)
    for _ in range(6):
        seen = random_sight(chance, tokens)
        assert problem(seen.attention, tokens) is None
        scorer.observe(state, seen)
    assert np.isfinite(state).all()
