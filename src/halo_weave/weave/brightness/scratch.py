"""Buffers that are reused between steps, because allocating memory costs more than the arithmetic."""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

_FEWEST = 1024


class Scratch:
    """One array for each requested type, all of the same length, with undefined contents."""

    def __init__(self, *types: DTypeLike) -> None:
        self._arrays: list[NDArray[Any]] = [np.empty(_FEWEST, dtype=one) for one in types]

    def of(self, count: int) -> list[NDArray[Any]]:
        if count > len(self._arrays[0]):
            self._arrays = [np.empty(2 * count, dtype=array.dtype) for array in self._arrays]
        return [array[:count] for array in self._arrays]
