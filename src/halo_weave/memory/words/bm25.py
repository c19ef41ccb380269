"""The best chunks by BM25, as SQLite's FTS5 reckons it, down to the last digit.

All chunks that have a word are scored in single precision first; that and an estimate of what the words not yet looked
at could add tell which ones can be among the best. Only those are scored in double precision, word by word in the order
of the question, as FTS5 does.
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
"""Numbers that fit into a processor's cache with a few like them."""
_BLOCKS_PER_WANTED = 8
_WORTH_STOPPING_FOR = 200_000
_FEW_CANDIDATES = 5000

AnyIds = NDArray[np.integer]
Scores = NDArray[np.float64]


class CorpusTotals(NamedTuple):
    """Of all chunks that can be found."""

    chunks: int
    tokens: int

    def idf(self, count: int) -> float:
        """What a word is worth that so many chunks have."""
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
    """Of these chunks, whose norms are given in the same order."""
    scores = np.zeros(len(ids))
    for idf, postings in words:
        frequencies = postings.frequencies_of(ids)
        scores += idf * (frequencies * (K1 + 1) / (frequencies + norms))
    return scores


def possible_best(
    words: Sequence[Weighted], norms: NDArray[np.float32], without: AnyIds, limit: int
) -> NDArray[np.integer]:
    """Ids, ascending, of chunks among which are the best `limit`; `norms` has one for every id."""
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
    """What is equal stands in order of its ids."""
    order = np.lexsort((ids, -scores))[:limit]
    return ids[order], scores[order]


def _add(scores: NDArray[np.float32], word: Weighted, norms: NDArray[np.float32]) -> None:
    factor = np.float32(word.idf * (K1 + 1))
    ids, frequencies = word.postings.ids, word.postings.frequencies
    for start in range(0, len(frequencies), _BLOCK):
        block = slice(start, start + _BLOCK)
        # Other types than this one are converted at each use.
        which = block if ids is None else ids[block].astype(np.intp)
        divisor = frequencies[block].astype(np.float32)
        added = divisor * factor
        divisor += norms[which]
        added /= divisor
        scores[which] += added


def _reached_by(scores: NDArray[np.float32], limit: int) -> float:
    """What at least `limit` chunks reach, 0 if that is not known: the best of every block of chunks tells."""
    size = max(1, len(scores) // (_BLOCKS_PER_WANTED * limit))
    blocks = len(scores) // size
    if blocks < limit:
        return 0.0
    best = scores[: blocks * size].reshape(blocks, size).max(axis=1)
    return float(np.partition(best, blocks - limit)[blocks - limit])
