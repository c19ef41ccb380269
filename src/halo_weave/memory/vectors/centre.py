"""The mean of a memory's vectors, which says nothing about any single chunk.

An embedder places texts of one kind close together, so the most typical chunks are close to every question. Subtracting
half of the mean from the question gives less weight to what chunks have in common, and more to what sets them apart.
"""

import threading

import numpy as np

from halo_weave.memory.store.protocol import Store
from halo_weave.memory.vectors.unit import Vector

SHARE = 0.5
_PLACES, _AT_EACH = 64, 16
"""Vectors are sampled at this many places, spread evenly over all change numbers; enough to estimate the mean."""
_GROWN = 1.1


class Centre:
    """The mean of one embedder's vectors. Thread-safe."""

    def __init__(self, store: Store, embedder: str) -> None:
        self._store = store
        self._embedder = embedder
        self._lock = threading.Lock()
        self._mean: Vector | None = None
        self._known: tuple[str, int] = ("", 0)

    def removed_from(self, question: Vector) -> Vector:
        """Return the question minus its share of the mean, normalised to length 1."""
        mean = self._mean_of_now()
        if mean is None:
            return question
        turned = question - SHARE * mean
        return np.asarray(turned / max(float(np.linalg.norm(turned)), 1e-9), dtype=np.float32)

    def _mean_of_now(self) -> Vector | None:
        with self._lock:
            identity, change = self._store.identity(), self._store.change_number()
            known_identity, known_change = self._known
            is_near = identity == known_identity and known_change <= change <= _GROWN * known_change
            if self._mean is None or not is_near:
                self._mean, self._known = self._sampled_mean(change), (identity, change)
            return self._mean

    def _sampled_mean(self, latest: int) -> Vector | None:
        found: dict[int, Vector] = {}
        for place in np.linspace(0, latest, _PLACES, endpoint=False).astype(int).tolist():
            changes = self._store.vectors_since(self._embedder, place, _AT_EACH)
            found.update(zip(changes.ids.tolist(), changes.vectors.astype(np.float32), strict=True))
            if not len(changes.ids) and not len(changes.removed):
                break  # no changes after this one
        return np.mean(list(found.values()), axis=0) if found else None
