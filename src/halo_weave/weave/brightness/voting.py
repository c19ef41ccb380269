"""The share of votes won: each step votes for the tokens that it looks at more than evenly, from a distance.

How much more does not count, so a single stare is worth no more than a glance; what counts is how often.
"""

import numpy as np

from halo_weave.weave.brightness.protocol import NEW_BRIGHTNESS, Sight, State
from halo_weave.weave.brightness.running_mean import RunningMean
from halo_weave.weave.brightness.scratch import Scratch
from halo_weave.weave.brightness.sink import Sink, WithoutSink
from halo_weave.weave.brightness.validation import require_match


class Voting:
    """A token for which every step votes is as bright as a new one. No votes come from below the minimum distance."""

    name = "voting"
    lanes = RunningMean.lanes

    def __init__(self, sink: Sink = "first_token", minimum_distance: int = 128, chance: int = 64) -> None:
        self._without_sink = WithoutSink(sink)
        self._minimum_distance = minimum_distance
        self._mean = RunningMean(chance)
        self._scratch = Scratch(np.float32, np.bool_)

    def fresh(self, count: int) -> State:
        return self._mean.fresh(count)

    def revived(self, count: int, brightness: float) -> State:
        return self._mean.revived(count, brightness)

    def observe(self, state: State, sight: Sight) -> None:
        require_match(state, sight, self.lanes)
        share, scored = self._without_sink.of(sight)
        far = slice(max(0, len(scored) - self._minimum_distance + 1))
        votes, is_above = self._scratch.of(far.stop)
        np.greater(sight.attention[far], share, out=is_above)
        np.multiply(is_above, NEW_BRIGHTNESS, out=votes, dtype=np.float32)
        self._mean.learn(state[:, far], votes, scored[far])
