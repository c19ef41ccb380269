"""Made-up vectors that are distributed like the embeddings of real texts.

A made-up vector starts at a real one and takes a random step: a sum of the differences to the nearest real vectors,
each with a random weight, plus a smaller sum of the same kind over all principal directions. The steps therefore have
the local covariance, clusters stay clusters, and the spectrum matches the real one. The step length is fitted so that
the median cosine to the nearest neighbour is the same among made-up vectors as among an equal number of real ones.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from halo_weave.memory.vectors.unit import Vectors

_NEIGHBOURS = 24
_SHARE_OF_ALL_DIRECTIONS = 0.3
_AT_ONCE = 512
_SHORTEST_STEP, _LONGEST_STEP, _FITTING_ROUNDS = 0.0, 2.0, 8
_COMPARED = 1000


class Spread(NamedTuple):
    """Statistics for comparing made-up vectors with real ones.

    They are the quartiles of the cosines to the nearest neighbour and to any other vector, and the effective number of
    directions in use.
    """

    nearest: tuple[float, float, float]
    any: tuple[float, float, float]
    effective_directions: float


class MadeUpVectors:
    """A generator that always gives the same vectors for the same `real` vectors and seed."""

    def __init__(self, real: Vectors, seed: int = 1) -> None:
        self._real = real
        self._neighbours = _nearest_places(real, min(_NEIGHBOURS, len(real) - 1))
        centred = real - real.mean(axis=0)
        _, sizes, directions = np.linalg.svd(centred, full_matrices=False)
        self._directions = (directions * (sizes / np.sqrt(len(real)))[:, np.newaxis]).astype(np.float32)
        self.step = self._fitted_step()
        self._random = np.random.default_rng(seed)

    def take(self, count: int) -> Vectors:
        return self._made(count, self.step, self._random)

    def _made(self, count: int, step: float, random: np.random.Generator) -> Vectors:
        parts = [self._steps(min(_AT_ONCE, count - start), step, random) for start in range(0, count, _AT_ONCE)]
        return np.concatenate(parts) if parts else np.empty((0, self._real.shape[1]), dtype=np.float32)

    def _steps(self, count: int, step: float, random: np.random.Generator) -> Vectors:
        places = random.integers(len(self._real), size=count)
        starts = self._real[places]
        around = self._real[self._neighbours[places]] - starts[:, np.newaxis]
        weights = random.standard_normal((count, 1, around.shape[1]), dtype=np.float32) / np.sqrt(around.shape[1])
        local = np.matmul(weights, around)[:, 0]
        anywhere = random.standard_normal((count, len(self._directions)), dtype=np.float32) @ self._directions
        return _unit(starts + step * (local + _SHARE_OF_ALL_DIRECTIONS * anywhere))

    def _fitted_step(self) -> float:
        """Find the step length by bisection: the longer the step, the lower the cosine to the nearest neighbour."""
        count = min(_COMPARED, len(self._real))
        wanted = np.median(_nearest_cosines(self._real[:count]))
        shortest, longest = _SHORTEST_STEP, _LONGEST_STEP
        for _ in range(_FITTING_ROUNDS):
            step = (shortest + longest) / 2
            made = self._made(count, step, np.random.default_rng(0))
            if np.median(_nearest_cosines(made)) > wanted:
                shortest = step
            else:
                longest = step
        return (shortest + longest) / 2


def spread(vectors: Vectors) -> Spread:
    different = ~np.eye(len(vectors), dtype=bool)
    variances = np.linalg.svd(vectors - vectors.mean(axis=0), compute_uv=False) ** 2
    return Spread(
        _quartiles(_nearest_cosines(vectors)),
        _quartiles((vectors @ vectors.T)[different]),
        float(variances.sum() ** 2 / (variances**2).sum()),
    )


def _nearest_cosines(vectors: Vectors) -> NDArray[np.float32]:
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -np.inf)
    nearest: NDArray[np.float32] = cosines.max(axis=1)
    return nearest


def _quartiles(values: NDArray[np.float32]) -> tuple[float, float, float]:
    low, middle, high = np.percentile(values, (25, 50, 75)).tolist()
    return low, middle, high


def _nearest_places(vectors: Vectors, count: int) -> NDArray[np.int64]:
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -np.inf)
    return np.argpartition(-cosines, count - 1, axis=1)[:, :count]


def _unit(vectors: Vectors) -> Vectors:
    result: Vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return result
