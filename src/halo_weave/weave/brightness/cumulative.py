"""Attention summed up, as in H2O (arXiv:2306.14048), but older attention fades and attention from afar counts for more.

Without the fading a sum grows with age, and a sum of attention from nearby says only that a token was once new.
"""

import numpy as np
from numpy.typing import NDArray

from halo_weave.weave.brightness.protocol import NEW_BRIGHTNESS, Sight, State
from halo_weave.weave.brightness.scratch import Scratch
from halo_weave.weave.brightness.sink import Sink, WithoutSink
from halo_weave.weave.brightness.validation import require_match

_EVEN_BRIGHTNESS = 1000.0
"""Of a token that always gets an even share of the attention from afar."""

_LEAST = 1e-20
"""Added by every step at least, far below any rank: numbers that fade to almost nothing make processors crawl."""

HALF_LIFE = 512
"""Steps after which attention counts half."""
HALF_WEIGHT_DISTANCE = 64
"""Distance in tokens at which attention counts half."""


class Cumulative:
    """The sum is scaled so that even attention from afar, kept up, gives a brightness of 1,000.

    New tokens begin at 10,000, as though they had been looked at ten times as much, and that fades like all attention.
    """

    name = "cumulative"
    lanes = 1

    def __init__(
        self,
        sink: Sink = "first_token",
        half_life: int = HALF_LIFE,
        half_weight_distance: int = HALF_WEIGHT_DISTANCE,
    ) -> None:
        """A `half_weight_distance` of 0 counts attention from any distance alike."""
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
    """distance / (distance + half): 1/2 at that distance, near 1 far beyond it; all 1 if half is 0."""

    def __init__(self, half: int) -> None:
        self._half = half
        self._descending: NDArray[np.float32] = np.empty(0, dtype=np.float32)

    def of(self, count: int) -> NDArray[np.float32]:
        """The weights of a whole context, whose tokens are count, count − 1, …, 1 away."""
        if count > len(self._descending):
            distance = np.arange(2 * count, 0, -1, dtype=np.float32)
            self._descending = distance / (distance + self._half)
        return self._descending[len(self._descending) - count :]
