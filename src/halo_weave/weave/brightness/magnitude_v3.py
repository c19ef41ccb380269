"""Magnitude Voting v3: tokens with more than an even share of attention gain in proportion, all others lose 1."""

import numpy as np

from halo_weave.weave.brightness.protocol import NEW_BRIGHTNESS, Sight, State
from halo_weave.weave.brightness.scratch import Scratch
from halo_weave.weave.brightness.sink import Sink, WithoutSink
from halo_weave.weave.brightness.validation import require_match

CAP = NEW_BRIGHTNESS


class MagnitudeV3:
    """Above an even share: + int(attention / share), up to the cap. Otherwise − 1, without a floor.

    The quotient is computed in float64 so that its integer part matches the definition. Brightness is exact down to
    −2^24, where it stops falling.
    """

    name = "magnitude_v3"
    lanes = 1

    def __init__(self, sink: Sink = "first_token") -> None:
        self._without_sink = WithoutSink(sink)
        self._scratch = Scratch(np.float64, np.float32, np.bool_)

    def fresh(self, count: int) -> State:
        return self.revived(count, NEW_BRIGHTNESS)

    def revived(self, count: int, brightness: float) -> State:
        return np.full((1, count), min(brightness, CAP), dtype=np.float32)

    def observe(self, state: State, sight: Sight) -> None:
        require_match(state, sight, self.lanes)
        share, scored = self._without_sink.of(sight)
        shares, change, is_above = self._scratch.of(len(scored))
        if share > 0:
            np.divide(sight.attention, share, out=shares, dtype=np.float64)
        else:
            shares.fill(0)
        np.greater(shares, 1, out=is_above)
        # (integer part + 1) × above − 1 is either the gain or −1. This arithmetic is several times faster than a mask.
        np.floor(shares, out=change, casting="same_kind")
        change += 1
        change *= is_above
        change -= 1
        change *= scored
        brightness = state[0]
        brightness += change
        np.minimum(brightness, CAP, out=brightness)
