"""From what chunks and their surroundings say to one order, as pure functions.

People do not repeat names and topics in every sentence: what a question asks for by three words is said in one chunk,
two of them in the chunks before. So each candidate is judged at three scales: alone, with its neighbours, and with the
part of the talk around it; by the words of the question that stand there, and by how close in meaning it is. Each of
these becomes a number of standard deviations above the mean of all candidates, and their weighted sum is the score.

Two things are known before anything is asked. A turn that was divided into many chunks says one thing in many of them,
so each is less likely to be what is looked for. And what a user said is worth the boost; what a user wishes from now on
is worth another, if it is close to the question. Two more are told by the question: whom it names may have said it, and
when it names a time, it was said then. All are factors on the odds, of which the score is the logarithm.
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
"""Ranks from 1 by chunk id."""
Scores = NDArray[np.float64]


class Scale(NamedTuple):
    """How far around a chunk to look, and what a chunk one step farther counts; ids follow the order of the talk."""

    reach: int
    decay: float

    @property
    def weights(self) -> dict[int, float]:
        return {step: self.decay ** abs(step) for step in range(-self.reach, self.reach + 1)}


ALONE, CLOSE, NEAR, WIDE = Scale(0, 1.0), Scale(2, 0.5), Scale(4, 0.5), Scale(PART // 2, 1.0)
_WEIGHTS_OF_WORDS = {ALONE: 0.2, NEAR: 0.4, WIDE: 0.5}
_WEIGHTS_OF_MEANING = {ALONE: 0.4, CLOSE: 0.4}
_DILUTION = 1.5
"""The power of the number of a turn's chunks by which the odds of each are divided."""
_SPEAKER, _TIME = 0.8, 2.0
"""Logarithms of the factors for the speaker and for the time that the question names."""


class RankingCandidate(NamedTuple):
    """A chunk that could be an answer. `similarity` and `word_score` are None where the search did not find it.

    `is_named` says whether the question names who said it; `nearness` is how near it is to a time that the question
    names, from 0 to 1; `is_wish` whether it is one of the wishes that are closest to the question.
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


class Neighbourhood(NamedTuple):
    """Chunks around the candidates and those themselves, by ascending ids: how often each term stands in each, a row
    for every term, and how close they are, NaN where that is not known. `shares` is how many of all chunks have each
    term, `part_shares` how many of all parts of the memory, both above 0 and up to 1: the fewer, the more it says. A
    name may be rare in sentences and everywhere, or rare and all in one place."""

    ids: NDArray[np.int64]
    frequencies: Scores
    shares: Scores
    part_shares: Scores
    similarities: Scores


class Ranked(NamedTuple):
    """Ranks count from 1, equals share the last of theirs; None where the ranking does not have the chunk."""

    candidate: RankingCandidate
    score: float
    vector_rank: int | None
    word_rank: int | None


def around(ids: NDArray[np.int64], scale: Scale) -> NDArray[np.int64]:
    """The chunks that a scale looks at, with those themselves, ascending."""
    wanted = np.sort(np.add.outer(ids, np.arange(-scale.reach, scale.reach + 1)), axis=None, kind="stable")
    return wanted[np.diff(wanted, prepend=wanted[0] - 1) > 0] if len(wanted) else wanted


def fused(
    candidates: Sequence[RankingCandidate], surroundings: Neighbourhood, *, user_boost: float, wish_boost: float = 1.0
) -> list[Ranked]:
    """Best first; what is equal stands in order of position. The last one has a score of 0."""
    if not candidates:
        return []
    candidates = sorted(candidates)
    ids = np.array([one.id for one in candidates])
    scores = _from_surroundings(ids, surroundings)
    scores -= _DILUTION * np.log([one.turn_chunks for one in candidates])
    scores += math.log(user_boost) * np.array([one.role == "user" for one in candidates])
    scores += math.log(wish_boost) * np.array([one.is_wish for one in candidates])
    scores += _SPEAKER * np.array([one.is_named for one in candidates])
    scores += _TIME * np.array([one.nearness for one in candidates])
    scores = np.round(scores - scores.min(), 9)  # sums in another order differ beyond that
    by_vector = _ranks({one.id: one.similarity for one in candidates if one.similarity is not None})
    by_words = _ranks({one.id: one.word_score for one in candidates if one.word_score is not None})
    ranked = [
        Ranked(one, score, by_vector.get(one.id), by_words.get(one.id))
        for one, score in zip(candidates, scores.tolist(), strict=True)
    ]
    return sorted(ranked, key=lambda one: (-one.score, one.candidate.position))


def word_weights(ids: NDArray[np.int64], surroundings: Neighbourhood, weights: Scores) -> Scores:
    """The weights of the terms that stand in each of the chunks, added up."""
    stands_there = _gathered(surroundings.frequencies, surroundings.ids, ids, ALONE) > 0
    total: Scores = weights @ stands_there
    return total


def diverse(scores: NDArray[np.float64], alike: NDArray[np.float32], share: float, limit: int) -> list[int]:
    """Places in order of maximal marginal relevance: `share` of the weight on the score as a part of the best one, the
    rest on being unlike what was chosen before. `alike` is the cosine of each with each; scores come best first."""
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


def _from_surroundings(ids: NDArray[np.int64], known: Neighbourhood) -> Scores:
    is_known = ~np.isnan(known.similarities)
    similarities = np.where(is_known, known.similarities, 0.0)
    scores = np.zeros(len(ids))
    for scale, weight in _WEIGHTS_OF_WORDS.items():
        frequencies = _gathered(known.frequencies, known.ids, ids, scale)
        worth = -np.log(known.part_shares if scale is WIDE else known.shares)
        scores += weight * _standardised(worth @ (frequencies / (frequencies + K1)))
    for scale, weight in _WEIGHTS_OF_MEANING.items():
        totals, counts = (_gathered(one, known.ids, ids, scale) for one in (similarities, is_known.astype(np.float64)))
        scores += weight * _standardised(np.where(counts > 0, totals / np.maximum(counts, 1e-9), math.nan))
    return scores


def _gathered(values: Scores, known: NDArray[np.int64], ids: NDArray[np.int64], scale: Scale) -> Scores:
    """The sum of what stands around each of the ids, by the weights of the scale."""
    steps, weights = (np.array(list(one)) for one in (scale.weights.keys(), scale.weights.values()))
    wanted = np.add.outer(steps, ids)
    places = _places(known, wanted)
    counted = np.where(known[places] == wanted, weights[:, np.newaxis], 0.0)
    total: Scores = np.einsum("...si,si->...i", values[..., places], counted)
    return total


def _places(known: NDArray[np.int64], ids: NDArray[np.int64]) -> NDArray[np.intp]:
    return np.minimum(np.searchsorted(known, ids), len(known) - 1)


def _standardised(values: Scores) -> Scores:
    """As standard deviations above the mean; what is not known is like the mean, and so is all if all are alike."""
    is_known = ~np.isnan(values)
    if not is_known.any():
        return np.zeros(len(values))
    mean, deviation = values[is_known].mean(), values[is_known].std()
    return np.where(is_known, values - mean, 0.0) / (deviation if deviation > 1e-9 else math.inf)


def _ranks(values: dict[int, float]) -> Ranks:
    """Equals share the last of their places: what cannot tell many chunks apart must not lift any of them."""
    ordered = sorted(values.values(), reverse=True)
    last_place = {value: place for place, value in enumerate(ordered, start=1)}
    return {chunk_id: last_place[value] for chunk_id, value in values.items()}
