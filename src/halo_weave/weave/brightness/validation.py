"""Checks the attention of a step before a scorer uses it."""

import math

import numpy as np
from numpy.typing import NDArray

from halo_weave.weave.brightness.protocol import Sight, State

SUM_TOLERANCE = 1e-2
"""The bundled engine's rows sum to 1 within 1e-3, and servers may round. A wrong reduction is off by far more."""


def problem(attention: NDArray[np.float32] | None, expected_length: int) -> str | None:
    """What is wrong with a step's attention, as a phrase, or None. Such attention must not change anything."""
    if attention is None:
        return "attention is missing"
    if attention.ndim != 1:
        return f"attention has {attention.ndim} dimensions instead of 1"
    if attention.size != expected_length:
        return f"attention has {attention.size} entries for {expected_length} tokens"
    # Two passes are enough: a non-finite entry makes the sum non-finite, and the minimum shows a negative entry.
    with np.errstate(invalid="ignore", over="ignore"):
        total = float(attention.sum())
        smallest = float(attention.min(initial=0))
    if not math.isfinite(total):
        return "attention has values that are not finite"
    if smallest < 0:
        return f"attention has a negative entry, {smallest:.3g}"
    if abs(total - 1) > SUM_TOLERANCE:
        return f"attention sums to {total:.4g} instead of 1"
    return None


def require_match(state: State, sight: Sight, lanes: int) -> None:
    """Without this check, mismatched arrays would broadcast, or fail when half of the state has changed."""
    count = len(sight.attention)
    if state.shape != (lanes, count) or len(sight.scored) != count:
        raise ValueError(
            f"State of shape {state.shape} and {len(sight.scored)} scored do not match "
            f"{lanes} lanes and {count} entries of attention."
        )
