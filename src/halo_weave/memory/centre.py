"""What all vectors of a memory have in common, which says nothing about any of them.

Text of one kind lies close together for an embedder, and what is most like all the rest is close to every question.
Half of the mean is taken from the question: what is common counts less, and what sets a chunk apart counts more.
"""

import threading

import numpy as np
from numpy.typing import NDArray

from halo_weave.memory.store import Store

SHARE = 0.5
_SAMPLED = 1024
"""Vectors, spread evenly over the memory, that tell its mean well enough."""
_GROWN = 1.1
Vector = NDArray[np.float32]


class Centre:
    """Of one embedder's vectors; may be used from several threads."""

    def __init__(self, store: Store, embedder: str) -> None:
        self._store = store
        self._embedder = embedder
        self._lock = threading.Lock()
        self._mean: Vector | None = None
        self._chunks = 0
        self._identity = ""

    def removed_from(self, question: Vector, chunks: int) -> Vector:
        """The question without its share of the mean, of length 1; `chunks` is how many the memory has."""
        with self._lock:
            identity = self._store.identity()
            if identity != self._identity or not self._chunks <= chunks <= _GROWN * self._chunks:
                self._mean = self._mean_of(chunks)
                self._identity, self._chunks = identity, chunks
            mean = self._mean
        if mean is None:
            return question
        turned = question - SHARE * mean
        return np.asarray(turned / max(float(np.linalg.norm(turned)), 1e-9), dtype=np.float32)

    def _mean_of(self, chunks: int) -> Vector | None:
        ids = np.unique(np.linspace(1, max(1, chunks), _SAMPLED).astype(np.int64))
        _, vectors = self._store.vectors_by_ids(self._embedder, ids.tolist())
        return vectors.astype(np.float32).mean(axis=0) if len(vectors) else None
