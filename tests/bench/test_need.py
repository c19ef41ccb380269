"""The measuring code of `bench need`: its regression, and a whole run on tiny data."""

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bench.test_recall import ROWS, written
from halo_weave.bench.need import need
from halo_weave.bench.need.logistic_regression import fitted
from halo_weave.config import Settings
from halo_weave.session.turn.need import NeedModel


@given(constant=st.floats(-2, 2), factor=st.floats(-3, 3), seed=st.integers(0, 99))
def test_the_regression_finds_the_numbers_that_made_its_examples(constant: float, factor: float, seed: int) -> None:
    """Examples are weighted by the probabilities themselves, so there is no noise to allow for."""
    values = np.random.default_rng(seed).normal(size=50)
    features = np.stack([np.ones(50), values], axis=1)
    expected = 1 / (1 + np.exp(-(constant + factor * values)))
    found = fitted(
        np.concatenate([features, features]),
        np.concatenate([np.ones(50), np.zeros(50)]),
        np.concatenate([expected, 1 - expected]),
    )
    np.testing.assert_allclose(found, [constant, factor], atol=0.01)


def test_examples_that_a_feature_separates_perfectly_give_finite_numbers() -> None:
    features = np.array([[1.0, -1.0], [1.0, 1.0]])
    found = fitted(features, np.array([0.0, 1.0]), np.ones(2))
    assert np.isfinite(found).all()
    assert found[1] > 0


def test_a_run_fits_every_number_and_restraint_costs_no_tokens(tmp_path: Path) -> None:
    data = written(tmp_path / "talk.jsonl", ROWS)
    figures = need.run(Settings(), [data], lambda _: None)
    assert set(figures["model"]) == set(figures["spread_over_folds"]) == set(NeedModel._fields)
    worth = figures[data.name]
    names = ("sparing", "balanced", "generous", "everything")
    returned = [worth[name]["tokens_for_nothing"] for name in names]
    assert returned == sorted(returned)
    assert [worth[name]["evidence_at_1024"] for name in names] == sorted(
        worth[name]["evidence_at_1024"] for name in names
    )
    assert worth["sparing"]["silent_share"] >= worth["everything"]["silent_share"]
