"""Ranks attention heads by how well each alone finds the passage that answers a question. Pure functions."""

from collections.abc import Collection, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from halo_weave.engine.reader.looking_head import LookingHead

_NEARLY_EQUAL = 0.02
"""A difference in the mean reciprocal rank that is worth less than the time saved by reading fewer layers."""


class RankedHead(msgspec.Struct, frozen=True):
    """`reciprocal_rank` is the mean over all questions of 1 / rank of the best passage that answers the question."""

    head: LookingHead
    reciprocal_rank: float


def reciprocal_ranks(attention: NDArray[np.float32], answers: Sequence[Collection[int]]) -> NDArray[np.float64]:
    """Return a number for each question; `attention` is [questions, passages]. Passages that tie stand before."""
    ranks = np.empty(len(answers))
    for number, own in enumerate(answers):
        row, places = attention[number], list(own)
        ranks[number] = 1 + np.count_nonzero(np.delete(row, places) >= row[places].max())
    return 1 / ranks


def chosen_head(heads: Sequence[RankedHead]) -> RankedHead:
    """Return the best of the heads in the lowest layer that has one nearly as good as the best of all."""
    best = max(one.reciprocal_rank for one in heads)
    good = [one for one in heads if one.reciprocal_rank >= best - _NEARLY_EQUAL]
    return min(good, key=lambda one: (one.head.layer, -one.reciprocal_rank, one.head.head))
