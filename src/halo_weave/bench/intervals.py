"""95 % confidence intervals of means by bootstrap resampling, identical on every run."""

from collections.abc import Sequence

import numpy as np

_RESAMPLES = 1000


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Return the low and high end of the interval of the mean."""
    sample = np.asarray(values, dtype=np.float64)
    if not len(sample):
        raise ValueError("there is no mean of nothing")
    chance = np.random.default_rng(1)
    means = [sample[chance.integers(0, len(sample), len(sample))].mean() for _ in range(_RESAMPLES)]
    low, high = np.percentile(means, (2.5, 97.5))
    return float(low), float(high)


def paired_difference(first: Sequence[float], second: Sequence[float]) -> tuple[float, float, float]:
    """Return the mean, low and high of how far the second is ahead of the first on the same questions."""
    differences = np.asarray(second, dtype=np.float64) - np.asarray(first, dtype=np.float64)
    return float(differences.mean()), *interval(differences.tolist())
