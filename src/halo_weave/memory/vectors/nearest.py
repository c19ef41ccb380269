"""The result of a nearest-vector search, shared by all vector indexes."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from halo_weave.records.chunks import VectorMatrix

Ids = NDArray[np.int64]
Similarities = NDArray[np.float32]

_DECIMALS = 6
"""The order of summation changes later digits, but equal vectors must be equally close at any row."""
_ROWS_AT_ONCE = 8192
"""Limits the memory needed to compare half-precision vectors."""


class Nearest(NamedTuple):
    """Chunk ids and their cosines to the query, closest first, ties by id."""

    ids: Ids
    similarities: Similarities


def similarities_to(query: NDArray[np.float32], vectors: VectorMatrix) -> Similarities:
    result = np.empty(len(vectors), dtype=np.float32)
    for start in range(0, len(vectors), _ROWS_AT_ONCE):
        rows = vectors[start : start + _ROWS_AT_ONCE].astype(np.float32, copy=False)
        # A matrix product would start threads that wait for each other longer than they work.
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
    """Merge two results that have no chunk in common."""
    return best_first(
        np.concatenate((first.ids, second.ids)), np.concatenate((first.similarities, second.similarities)), limit
    )
