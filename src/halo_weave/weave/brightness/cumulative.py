"""Cumulative attention as in H2O (arXiv:2306.14048), except that attention decays and distant attention weighs more.

Without decay, the sum would grow with age. Without the distance weight, it would mostly show that a token was once new.
"""

import numpy as np
from numpy.typing import NDArray

from halo_weave.weave.brightness.protocol import NEW_BRIGHTNESS, Sight, State
from halo_weave.weave.brightness.scratch import Scratch
from halo_weave.weave.brightness.sink import Sink, WithoutSink
from halo_weave.weave.brightness.validation import require_match

_EVEN_BRIGHTNESS = 1000.0
"""Brightness of a token that always receives an even share of the attention from far away."""

_LEAST = 1e-20
"""Minimum added in every step, too small to affect any ranking. It avoids denormal floats, which are slow."""

HALF_LIFE = 512
"""Number of steps after which attention counts half."""
HALF_WEIGHT_DISTANCE = 64
"""Distance in tokens at which attention counts half."""


class Cumulative:
    """The sum is scaled so that a constant even share of distant attention converges to a brightness of 1,000.

    New tokens start at 10,000, as if they had received ten times that attention. This start value decays like the rest.
    """

    name = "cumulative"
    lanes = 1

    def __init__(
        self,
        sink: Sink = "first_token",
        half_life: int = HALF_LIFE,
        half_weight_distance: int = HALF_WEIGHT_DISTANCE,
    ) -> None:
        """With a `half_weight_distance` of 0, attention counts the same at any distance."""
        self._without_sink = WithoutSink(sink)
        self._fading = 1 - 0.5 ** (1 / half_life)
        self._weights = _DistanceWeights(half_weight_distance)
        self._scratch = Scratch(np.float32, np.float32)

    def fresh(self, count: int) -> State:
        return self.revived(count, NEW_BRIGHTNESS)

    def revived(self, count: int, brightness: float) -> State:
        return np.full((1, count), brightness, dtype=np.float32)

    def observe(self, state: State, sight: Sight) -> None:
        require_match(state, sight, self.lanes)
        share, scored = self._without_sink.of(sight)
        change, faded = self._scratch.of(len(scored))
        scale = _EVEN_BRIGHTNESS * self._fading / share if share > 0 else 0.0
        np.multiply(sight.attention, scale, out=change)
        change *= self._weights.of(len(scored))
        change += _LEAST
        brightness = state[0]
        np.multiply(brightness, self._fading, out=faded)
        change -= faded
        change *= scored
        brightness += change


class _DistanceWeights:
    """distance / (distance + half): 1/2 at a distance of `half`, close to 1 far beyond it; always 1 if `half` is 0."""

    def __init__(self, half: int) -> None:
        self._half = half
        self._descending: NDArray[np.float32] = np.empty(0, dtype=np.float32)

    def of(self, count: int) -> NDArray[np.float32]:
        """The weights for a whole context, whose tokens have the distances count, count − 1, …, 1."""
        if count > len(self._descending):
            distance = np.arange(2 * count, 0, -1, dtype=np.float32)
            self._descending = distance / (distance + self._half)
        return self._descending[len(self._descending) - count :]
