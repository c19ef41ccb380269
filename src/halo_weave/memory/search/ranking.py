"""Ranking of candidates by their own content and their surroundings, as pure functions.

People do not repeat names and topics in every sentence: of three words in a question, one chunk may contain one and the
chunks before it the other two. So each candidate is judged at three scales: alone, with its neighbours, and with the
part of the conversation around it. The question's words count at all three scales, similarity in meaning at the first
two, the reader's attention at the first. Each value becomes a number of standard deviations above the mean of all
candidates, and their weighted sum is the score.

Two factors are known before the question. A turn that was split into many chunks spreads one statement over them, so
each is less likely to be the answer. User chunks get the user boost; a user's lasting wishes get another boost if they
are close to the question. Two more factors come from the question: a speaker whom it names, and a time that it names.
All are factors on the odds, and the score is the logarithm of the odds.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from halo_weave.memory.words.bm25 import K1
from halo_weave.records.chunks import PART
from halo_weave.records.roles import Role

Ranks = dict[int, int]
"""Rank, counting from 1, by chunk id."""
Scores = NDArray[np.float64]


class Scale(NamedTuple):
    """How far around a chunk to look, and the factor for each step away. Ids follow the order of the conversation."""

    reach: int
    decay: float

    @property
    def weights(self) -> dict[int, float]:
        return {step: self.decay ** abs(step) for step in range(-self.reach, self.reach + 1)}


ALONE, CLOSE, NEAR, WIDE = Scale(0, 1.0), Scale(2, 0.5), Scale(4, 0.5), Scale(PART // 2, 1.0)
_WEIGHTS_OF_WORDS = {ALONE: 0.2, NEAR: 0.4, WIDE: 0.5}
_WEIGHTS_OF_MEANING = {ALONE: 0.4, CLOSE: 0.4}
_WEIGHT_OF_ATTENTION = 0.5
_DILUTION = 1.5
"""The odds of a chunk are divided by the number of chunks in its turn to this power."""
_SPEAKER, _TIME = 0.8, 2.0
"""Logarithms of the factors for a named speaker and a named time."""


class RankingCandidate(NamedTuple):
    """A chunk that could be an answer.

    `similarity` and `word_score` are None where that search did not find the chunk. `is_named` says whether the
    question names the speaker. `nearness`, from 0 to 1, is how close the chunk is to a time that the question names.
    `is_wish` marks one of the wishes closest to the question. `attention` is how strongly the question looks at the
    chunk, NaN if it is unknown.
    """

    id: int
    position: int
    role: Role
    turn_chunks: int
    similarity: float | None
    word_score: float | None
    is_named: bool = False
    nearness: float = 0.0
    is_wish: bool = False
    attention: float = math.nan


class Neighbourhood(NamedTuple):
    """The candidates and the chunks around them, by ascending id.

    `frequencies` has a row per term with its occurrences in each chunk. `similarities` is NaN where unknown. `shares`
    is the fraction of all chunks that contain each term, `part_shares` the fraction of all parts of the memory. Both
    are above 0 and at most 1, and a smaller value weighs more. The two differ: a name may be rare per sentence but
    spread everywhere, or rare and concentrated in one place.
    """

    ids: NDArray[np.int64]
    frequencies: Scores
    shares: Scores
    part_shares: Scores
    similarities: Scores


class Ranked(NamedTuple):
    """A candidate with its score and ranks.

    Ranks count from 1, and ties share their last rank. A rank is None if that ranking does not include the chunk.
    """

    candidate: RankingCandidate
    score: float
    vector_rank: int | None
    word_rank: int | None
    attention_rank: int | None


def around(ids: NDArray[np.int64], scale: Scale) -> NDArray[np.int64]:
    """Return the ids that a scale looks at, including the given ones, in ascending order."""
    wanted = np.sort(np.add.outer(ids, np.arange(-scale.reach, scale.reach + 1)), axis=None, kind="stable")
    return wanted[np.diff(wanted, prepend=wanted[0] - 1) > 0] if len(wanted) else wanted


def fused(
    candidates: Sequence[RankingCandidate], surroundings: Neighbourhood, *, user_boost: float, wish_boost: float = 1.0
) -> list[Ranked]:
    """Rank best first; ties are in order of position. The lowest score is 0."""
    if not candidates:
        return []
    candidates = sorted(candidates)
    ids = np.array([one.id for one in candidates])
    attention = np.array([one.attention for one in candidates])
    is_read = not np.isnan(attention).all()
    scores = _from_surroundings(ids, surroundings, words_alone=not is_read)
    scores += _WEIGHT_OF_ATTENTION * _standardised(attention)
    scores -= _DILUTION * np.log([one.turn_chunks for one in candidates])
    scores += math.log(user_boost) * np.array([one.role == "user" for one in candidates])
    scores += math.log(wish_boost) * np.array([one.is_wish for one in candidates])
    scores += _SPEAKER * np.array([one.is_named for one in candidates])
    scores += _TIME * np.array([one.nearness for one in candidates])
    scores = np.round(scores - scores.min(), 9)  # the order of summation changes later digits
    by_vector = _ranks({one.id: one.similarity for one in candidates if one.similarity is not None})
    by_words = _ranks({one.id: one.word_score for one in candidates if one.word_score is not None})
    by_attention = _ranks({one.id: one.attention for one in candidates if not math.isnan(one.attention)})
    ranked = [
        Ranked(one, score, by_vector.get(one.id), by_words.get(one.id), by_attention.get(one.id))
        for one, score in zip(candidates, scores.tolist(), strict=True)
    ]
    return sorted(ranked, key=lambda one: (-one.score, one.candidate.position))


def word_weights(ids: NDArray[np.int64], surroundings: Neighbourhood, weights: Scores) -> Scores:
    """Return for each chunk the sum of the weights of the terms that it contains."""
    stands_there = _gathered(surroundings.frequencies, surroundings.ids, ids, ALONE) > 0
    total: Scores = weights @ stands_there
    return total


def diverse(scores: NDArray[np.float64], alike: NDArray[np.float32], share: float, limit: int) -> list[int]:
    """Return indexes in order of maximal marginal relevance.

    `share` is the weight of the score, relative to the best one; the rest goes to being unlike the chunks chosen
    before. `alike` holds the pairwise cosines. Scores must be sorted best first.
    """
    if not len(scores):
        return []
    relevance = share * scores / (scores.max() or 1.0)
    closest = np.full(len(scores), -np.inf)
    chosen = [0]
    is_open = np.ones(len(scores), dtype=bool)
    is_open[0] = False
    while len(chosen) < min(limit, len(scores)):
        closest = np.maximum(closest, alike[chosen[-1]])
        worth = np.where(is_open, relevance - (1 - share) * closest, -np.inf)
        place = int(np.argmax(worth))
        chosen.append(place)
        is_open[place] = False
    return chosen


def _from_surroundings(ids: NDArray[np.int64], known: Neighbourhood, *, words_alone: bool) -> Scores:
    """`words_alone` counts a chunk's own words; attention knows them better."""
    is_known = ~np.isnan(known.similarities)
    similarities = np.where(is_known, known.similarities, 0.0)
    scores = np.zeros(len(ids))
    for scale, weight in _WEIGHTS_OF_WORDS.items():
        if scale is ALONE and not words_alone:
            continue
        frequencies = _gathered(known.frequencies, known.ids, ids, scale)
        worth = -np.log(known.part_shares if scale is WIDE else known.shares)
        scores += weight * _standardised(worth @ (frequencies / (frequencies + K1)))
    for scale, weight in _WEIGHTS_OF_MEANING.items():
        totals, counts = (_gathered(one, known.ids, ids, scale) for one in (similarities, is_known.astype(np.float64)))
        scores += weight * _standardised(np.where(counts > 0, totals / np.maximum(counts, 1e-9), math.nan))
    return scores


def _gathered(values: Scores, known: NDArray[np.int64], ids: NDArray[np.int64], scale: Scale) -> Scores:
    """Return for each id the weighted sum of the values around it."""
    steps, weights = (np.array(list(one)) for one in (scale.weights.keys(), scale.weights.values()))
    wanted = np.add.outer(steps, ids)
    places = _places(known, wanted)
    counted = np.where(known[places] == wanted, weights[:, np.newaxis], 0.0)
    total: Scores = np.einsum("...si,si->...i", values[..., places], counted)
    return total


def _places(known: NDArray[np.int64], ids: NDArray[np.int64]) -> NDArray[np.intp]:
    return np.minimum(np.searchsorted(known, ids), len(known) - 1)


def _standardised(values: Scores) -> Scores:
    """Convert to standard deviations above the mean. Unknown values, or all if they are equal, become 0."""
    is_known = ~np.isnan(values)
    if not is_known.any():
        return np.zeros(len(values))
    mean, deviation = values[is_known].mean(), values[is_known].std()
    return np.where(is_known, values - mean, 0.0) / (deviation if deviation > 1e-9 else math.inf)


def _ranks(values: dict[int, float]) -> Ranks:
    """Rank from 1; ties share their last rank, because a value shared by many chunks must not lift any of them."""
    ordered = sorted(values.values(), reverse=True)
    last_place = {value: place for place, value in enumerate(ordered, start=1)}
    return {chunk_id: last_place[value] for chunk_id, value in values.items()}
