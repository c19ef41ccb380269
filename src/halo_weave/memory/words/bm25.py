"""The best chunks by BM25, identical to SQLite's FTS5 down to the last digit.

All chunks that contain a word are first scored in single precision. That score, plus an upper bound on what the
remaining words can add, tells which chunks can be among the best. Only those are scored in double precision, word by
word in query order, as FTS5 does.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from halo_weave.memory.words.index_file import Postings

K1 = 1.2
B = 0.75
_LEAST_IDF = 1e-6
_BLOCK = 1 << 15
"""Block size at which a few arrays fit into a processor's cache."""
_BLOCKS_PER_WANTED = 8
_WORTH_STOPPING_FOR = 200_000
_FEW_CANDIDATES = 5000

AnyIds = NDArray[np.integer]
Scores = NDArray[np.float64]


class CorpusTotals(NamedTuple):
    """Totals over all searchable chunks."""

    chunks: int
    tokens: int

    def idf(self, count: int) -> float:
        """Return the weight of a word that occurs in `count` chunks."""
        return max(math.log((self.chunks - count + 0.5) / (count + 0.5)), _LEAST_IDF)

    def norms(self, lengths: NDArray[np.integer]) -> NDArray[np.float64]:
        return K1 * ((1 - B) + B * lengths.astype(np.float64) / (self.tokens / self.chunks))

    def norms_in_single_precision(self, lengths: NDArray[np.integer]) -> NDArray[np.float32]:
        norms = lengths.astype(np.float32)
        norms *= np.float32(K1 * B * self.chunks / max(self.tokens, 1))
        norms += np.float32(K1 * (1 - B))
        return norms


class Weighted(NamedTuple):
    idf: float
    postings: Postings


def exact_scores(words: Sequence[Weighted], ids: AnyIds, norms: NDArray[np.float64]) -> Scores:
    """Score these chunks; `norms` is in the same order as `ids`."""
    scores = np.zeros(len(ids))
    for idf, postings in words:
        frequencies = postings.frequencies_of(ids)
        scores += idf * (frequencies * (K1 + 1) / (frequencies + norms))
    return scores


def possible_best(
    words: Sequence[Weighted], norms: NDArray[np.float32], without: AnyIds, limit: int
) -> NDArray[np.integer]:
    """Return ascending ids that include the best `limit` chunks; `norms` has an entry for every id."""
    ordered = sorted(words, key=lambda word: -word.idf)
    margin = 1 - 1e-6 * (10 + len(words))
    scores = np.zeros(len(norms), dtype=np.float32)
    for done, word in enumerate(ordered):
        left = ordered[done:]
        if done and sum(one.postings.chunks for one in left) > _WORTH_STOPPING_FOR:
            scores[without] = 0
            reachable = _reached_by(scores, limit) * margin - sum(one.idf for one in left) * (K1 + 1)
            if reachable > 0 and np.count_nonzero(scores >= reachable) <= _FEW_CANDIDATES:
                return np.flatnonzero(scores >= reachable)
        _add(scores, word, norms)
    scores[without] = 0
    reached = _reached_by(scores, limit)
    candidates = np.flatnonzero(scores >= reached * margin if reached else scores)
    if len(candidates) > limit:
        least = np.partition(scores[candidates], -limit)[-limit]
        candidates = candidates[scores[candidates] >= least * margin]
    return candidates


def best_first(ids: AnyIds, scores: Scores, limit: int) -> tuple[AnyIds, Scores]:
    """Sort by score, ties by id."""
    order = np.lexsort((ids, -scores))[:limit]
    return ids[order], scores[order]


def _add(scores: NDArray[np.float32], word: Weighted, norms: NDArray[np.float32]) -> None:
    factor = np.float32(word.idf * (K1 + 1))
    ids, frequencies = word.postings.ids, word.postings.frequencies
    for start in range(0, len(frequencies), _BLOCK):
        block = slice(start, start + _BLOCK)
        # NumPy would convert any other index type at each use.
        which = block if ids is None else ids[block].astype(np.intp)
        divisor = frequencies[block].astype(np.float32)
        added = divisor * factor
        divisor += norms[which]
        added /= divisor
        scores[which] += added


def _reached_by(scores: NDArray[np.float32], limit: int) -> float:
    """Return a score that at least `limit` chunks reach, estimated from block maxima; 0 if unknown."""
    size = max(1, len(scores) // (_BLOCKS_PER_WANTED * limit))
    blocks = len(scores) // size
    if blocks < limit:
        return 0.0
    best = scores[: blocks * size].reshape(blocks, size).max(axis=1)
    return float(np.partition(best, blocks - limit)[blocks - limit])
