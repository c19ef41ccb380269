"""A mean per observation: unlike a sum, it does not grow with age, so old and new tokens can be compared.

Until a token had its chance, a number of observations, it is as bright as a new one; from then on its brightness is the
mean of all it was given. The state has the lanes brightness, mean and count.
"""

import numpy as np
from numpy.typing import NDArray

from halo_weave.weave.brightness.protocol import NEW_BRIGHTNESS, State
from halo_weave.weave.brightness.scratch import Scratch

_LONGEST = 65_536.0
"""The count stops here, and the mean slowly forgets: it can still change, and float32 can still hold the change."""


class RunningMean:
    lanes = 3

    def __init__(self, chance: int) -> None:
        self._chance = float(chance)
        self._scratch = Scratch(np.float32, np.bool_)

    def fresh(self, count: int) -> State:
        state = np.zeros((self.lanes, count), dtype=np.float32)
        state[0] = NEW_BRIGHTNESS
        return state

    def revived(self, count: int, brightness: float) -> State:
        """As if the chance was had, with this brightness as its mean."""
        state = np.full((self.lanes, count), brightness, dtype=np.float32)
        state[2] = self._chance
        return state

    def learn(self, state: State, values: NDArray[np.float32], scored: NDArray[np.bool_]) -> None:
        """Add one observation to the scored columns. `values` are used up."""
        brightness, mean, count = state
        divisor, is_proven = self._scratch.of(len(scored))
        count += scored
        np.minimum(count, _LONGEST, out=count)
        np.maximum(count, 1, out=divisor)
        values -= mean
        values *= scored
        values /= divisor
        mean += values
        np.greater_equal(count, self._chance, out=is_proven)
        is_proven &= scored
        np.copyto(brightness, mean, where=is_proven)
