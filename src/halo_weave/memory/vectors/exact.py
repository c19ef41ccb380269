"""An index in memory that compares the query with all vectors."""

import numpy as np
from numpy.typing import NDArray

from halo_weave.memory.vectors.nearest import Ids, Nearest, Similarities, best_first, similarities_to
from halo_weave.records.chunks import VectorMatrix

_FIRST_CAPACITY = 256


class ExactIndex:
    """Not thread-safe."""

    def __init__(self) -> None:
        self._ids: Ids = np.empty(0, dtype=np.int64)
        # Half precision would save memory but is more than ten times slower to compare.
        self._rows: NDArray[np.float32] = np.empty((0, 0), dtype=np.float32)
        self._row_of: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._row_of)

    def put(self, ids: Ids, vectors: VectorMatrix) -> None:
        """Add or replace vectors; `ids` must be unique."""
        if not len(ids):
            return
        old_count = len(self)
        places = [self._row_of.setdefault(chunk_id, len(self._row_of)) for chunk_id in ids.tolist()]
        if len(self) > old_count:
            self._reserve(len(self), vectors.shape[1])
        self._ids[places] = ids
        self._rows[places] = vectors

    def discard(self, ids: Ids) -> None:
        for chunk_id in ids.tolist():
            place = self._row_of.pop(chunk_id, None)
            last = len(self)
            if place is not None and place != last:
                self._ids[place], self._rows[place] = self._ids[last], self._rows[last]
                self._row_of[int(self._ids[place])] = place

    def nearest(self, query: NDArray[np.float32], limit: int) -> Nearest:
        count = len(self)
        if not count:
            return Nearest(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32))
        return best_first(self._ids[:count], similarities_to(query, self._rows[:count]), limit)

    def similarities(self, query: NDArray[np.float32], ids: Ids) -> Similarities:
        """Return similarities, NaN for chunks that are not in this index."""
        places = np.array([self._row_of.get(chunk_id, -1) for chunk_id in ids.tolist()], dtype=np.int64)
        result = np.full(len(ids), np.nan, dtype=np.float32)
        is_here = places >= 0
        result[is_here] = similarities_to(query, self._rows[places[is_here]])
        return result

    def _reserve(self, count: int, dimensions: int) -> None:
        if count <= len(self._ids):
            return
        capacity = max(count, 2 * len(self._ids), _FIRST_CAPACITY)
        rows = np.empty((capacity, dimensions), dtype=np.float32)
        if len(self._ids):
            rows[: len(self._rows)] = self._rows
        ids = np.empty(capacity, dtype=np.int64)
        ids[: len(self._ids)] = self._ids
        self._ids, self._rows = ids, rows
