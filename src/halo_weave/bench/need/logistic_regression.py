"""Weighted logistic regression by Newton's method."""

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

_STEPS = 50
_RIDGE = 1e-6
"""Keeps the numbers finite where a feature separates the examples perfectly."""


def fitted(features: Numbers, labels: Numbers, weights: Numbers) -> Numbers:
    """Return the factor of each column of `features`, which has a column of ones for the constant."""
    factors = np.zeros(features.shape[1])
    weights = weights / weights.sum()
    for _ in range(_STEPS):
        expected = 1 / (1 + np.exp(-np.clip(features @ factors, -30, 30)))
        gradient = features.T @ (weights * (expected - labels)) + _RIDGE * factors
        curvature = (features.T * (weights * expected * (1 - expected))) @ features + _RIDGE * np.eye(len(factors))
        step = np.linalg.solve(curvature, gradient)
        factors -= step
        if np.abs(step).max() < 1e-9:
            break
    return factors
