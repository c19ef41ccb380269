"""The mean attention that words receive from afar.

A model looks at the last words whatever they say. Only what it goes back to from a distance is a sign of interest; and
punctuation and control tokens draw attention for reasons that have nothing to do with what was said.
"""

import numpy as np

from halo_weave.weave.brightness.protocol import EVEN_BRIGHTNESS, Sight, State
from halo_weave.weave.brightness.running_mean import RunningMean
from halo_weave.weave.brightness.scratch import Scratch
from halo_weave.weave.brightness.sink import Sink, WithoutSink
from halo_weave.weave.brightness.validation import require_match


class Far:
    """Tokens nearer than the minimum distance are not observed. What is no word counts as not looked at at all."""

    name = "far"
    lanes = RunningMean.lanes

    def __init__(self, sink: Sink = "first_token", minimum_distance: int = 128, chance: int = 64) -> None:
        self._without_sink = WithoutSink(sink)
        self._minimum_distance = minimum_distance
        self._mean = RunningMean(chance)
        self._scratch = Scratch(np.float32)

    def fresh(self, count: int) -> State:
        return self._mean.fresh(count)

    def revived(self, count: int, brightness: float) -> State:
        return self._mean.revived(count, brightness)

    def observe(self, state: State, sight: Sight) -> None:
        require_match(state, sight, self.lanes)
        share, scored = self._without_sink.of(sight)
        far = slice(max(0, len(scored) - self._minimum_distance + 1))
        (values,) = self._scratch.of(far.stop)
        np.multiply(sight.attention[far], EVEN_BRIGHTNESS / share if share > 0 else 0.0, out=values)
        values *= sight.words[far]
        self._mean.learn(state[:, far], values, scored[far])
