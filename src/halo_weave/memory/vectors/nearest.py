"""Chunks by closeness: what every kind of vector index answers with."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from halo_weave.records.chunks import VectorMatrix

Ids = NDArray[np.int64]
Similarities = NDArray[np.float32]

_DECIMALS = 6
"""Sums in another order differ beyond these, and equal vectors must be equally close wherever they stand."""
_ROWS_AT_ONCE = 8192
"""Bounds what vectors of half precision cost in memory while they are compared."""


class Nearest(NamedTuple):
    """Chunk ids and their cosines to what was asked for, closest first, ties by id."""

    ids: Ids
    similarities: Similarities


def similarities_to(query: NDArray[np.float32], vectors: VectorMatrix) -> Similarities:
    result = np.empty(len(vectors), dtype=np.float32)
    for start in range(0, len(vectors), _ROWS_AT_ONCE):
        rows = vectors[start : start + _ROWS_AT_ONCE].astype(np.float32, copy=False)
        # A product of matrices would start threads that wait for each other longer than they work.
        np.vecdot(rows, query, out=result[start : start + _ROWS_AT_ONCE])
    return np.round(result, _DECIMALS)


def best_first(ids: Ids, similarities: Similarities, limit: int) -> Nearest:
    if 0 < limit < len(ids):
        border = np.partition(similarities, len(ids) - limit)[len(ids) - limit]
        chosen = similarities >= border
        ids, similarities = ids[chosen], similarities[chosen]
    order = np.lexsort((ids, -similarities))[:limit]
    return Nearest(ids[order], similarities[order])


def best_of(first: Nearest, second: Nearest, limit: int) -> Nearest:
    """Of two answers that have no chunk in common."""
    return best_first(
        np.concatenate((first.ids, second.ids)), np.concatenate((first.similarities, second.similarities)), limit
    )
