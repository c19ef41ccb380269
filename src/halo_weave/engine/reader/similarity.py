"""How strongly a question's words look at passages: the arithmetic that search and the choice of a head share."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]

WORDS_USED = 8
"""Only the words of a question with the strongest queries count: the others look at nothing in particular."""


class WordsThatCount(NamedTuple):
    """`places` are in order, `weights` add up to 1."""

    places: NDArray[np.intp]
    weights: Floats


def words_that_count(queries: Floats) -> WordsThatCount:
    """Choose from the calibrated queries of a question's words, which are [words, size]."""
    strengths = np.einsum("ij,ij->i", queries, queries)
    chosen = np.sort(np.argsort(-strengths, kind="stable")[:WORDS_USED])
    weights = strengths[chosen] / max(float(strengths[chosen].sum()), 1e-9)
    return WordsThatCount(chosen, weights.astype(np.float32))


def largest_in_passages(queries: Floats, keys: Floats, starts: NDArray[np.intp]) -> Floats:
    """Return for each query the largest product with a key of each passage: [queries, passages].

    `keys` are those of all passages one after the other, which begin at `starts`.
    """
    largest: Floats = np.maximum.reduceat(queries @ keys.T, starts, axis=1)
    return largest
