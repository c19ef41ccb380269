"""The mean attention received per observation: H2O (arXiv:2306.14048) without its favour for what is old."""

import numpy as np

from halo_weave.weave.brightness.protocol import EVEN_BRIGHTNESS, Sight, State
from halo_weave.weave.brightness.running_mean import RunningMean
from halo_weave.weave.brightness.scratch import Scratch
from halo_weave.weave.brightness.sink import Sink, WithoutSink
from halo_weave.weave.brightness.validation import require_match


class Observed:
    """Attention is counted in even shares, so that a step in a long context says as much as one in a short context."""

    name = "observed"
    lanes = RunningMean.lanes

    def __init__(self, sink: Sink = "first_token", chance: int = 64) -> None:
        self._without_sink = WithoutSink(sink)
        self._mean = RunningMean(chance)
        self._scratch = Scratch(np.float32)

    def fresh(self, count: int) -> State:
        return self._mean.fresh(count)

    def revived(self, count: int, brightness: float) -> State:
        return self._mean.revived(count, brightness)

    def observe(self, state: State, sight: Sight) -> None:
        require_match(state, sight, self.lanes)
        share, scored = self._without_sink.of(sight)
        (values,) = self._scratch.of(len(scored))
        np.multiply(sight.attention, EVEN_BRIGHTNESS / share if share > 0 else 0.0, out=values)
        self._mean.learn(state, values, scored)
