"""From rankings to one order, as pure functions.

A chunk's score is the sum over rankings of 1 / (k + rank), ranks from 1, times the boost if a user said it. Ranks need
no common scale, and a chunk that several rankings know beats one that a single ranking puts first.

There are three rankings: by meaning, by the chunk's own words, and by the words in and around it. The last two share
one vote. People do not repeat names and topics in every sentence: what a question asks for by three words is said in
one chunk, two of them in the chunks before. So the words that were found in a chunk count half in its neighbours, a
quarter in the next ones, and so on.

What a boost b is worth depends on k: a user's chunk at rank r counts like another's at rank (k + r) / b - k. With the
usual k of 60 a factor of 1.5 would lift rank 31 to the top, and who spoke would decide more than what was said; with
k = 10 it lifts rank 6 to the top and rank 20 to 10.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from halo_weave.memory.records import Role

Ranks = dict[int, int]
"""Ranks from 1 by chunk id."""
_REACH = 4
"""Chunks on each side whose words count."""


class Candidate(NamedTuple):
    """A chunk that could be an answer. `similarity` and `word_score` are None where the search did not find it."""

    id: int
    position: int
    role: Role
    similarity: float | None
    word_score: float | None


class Ranked(NamedTuple):
    """Ranks count from 1, equals share the last of theirs; None where the ranking does not have the chunk."""

    candidate: Candidate
    score: float
    vector_rank: int | None
    word_rank: int | None
    around_rank: int | None


def fused(candidates: Sequence[Candidate], *, k: int, user_boost: float) -> list[Ranked]:
    """Best first; what is equal stands in order of position."""
    by_vector = _ranks({one.id: one.similarity for one in candidates if one.similarity is not None})
    word_scores = {one.id: one.word_score for one in candidates if one.word_score is not None}
    by_words = _ranks(word_scores)
    by_words_around = _ranks(_with_neighbours(word_scores, [one.id for one in candidates]))
    ranked = []
    for candidate in candidates:
        ranks = (by_vector.get(candidate.id), by_words.get(candidate.id), by_words_around.get(candidate.id))
        votes = zip((1.0, 0.5, 0.5), ranks, strict=True)
        score = math.fsum(vote / (k + rank) for vote, rank in votes if rank is not None)
        boost = user_boost if candidate.role == "user" else 1.0
        ranked.append(Ranked(candidate, boost * score, *ranks))
    return sorted(ranked, key=lambda one: (-one.score, one.candidate.position))


def diverse(scores: NDArray[np.float64], alike: NDArray[np.float32], share: float, limit: int) -> list[int]:
    """Places in order of maximal marginal relevance: `share` of the weight on the score as a part of the best one, the
    rest on being unlike what was chosen before. `alike` is the cosine of each with each; scores come best first."""
    if not len(scores):
        return []
    relevance = share * scores / scores.max()
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


def _with_neighbours(word_scores: dict[int, float], ids: Sequence[int]) -> dict[int, float]:
    """What words are worth in each chunk together with those around it; ids follow the order in which chunks came."""
    if not word_scores:
        return {}
    having = np.array(sorted(word_scores))
    scores = np.array([word_scores[one] for one in having.tolist()])
    wanted = np.array(ids)
    near = np.zeros(len(wanted))
    for step in range(-_REACH, _REACH + 1):
        places = np.minimum(np.searchsorted(having, wanted + step), len(having) - 1)
        near += np.where(having[places] == wanted + step, scores[places], 0.0) * 0.5 ** abs(step)
    return {one: score for one, score in zip(ids, near.tolist(), strict=True) if score > 0}


def _ranks(values: dict[int, float]) -> Ranks:
    """Equals share the last of their places: what cannot tell many chunks apart must not lift any of them."""
    ordered = sorted(values.values(), reverse=True)
    last_place = {value: place for place, value in enumerate(ordered, start=1)}
    return {chunk_id: last_place[value] for chunk_id, value in values.items()}
