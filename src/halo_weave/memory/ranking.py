"""From two rankings to one, as pure functions.

A chunk's score is the sum over both rankings of 1 / (k + rank), ranks from 1, times the boost if a user said it. Ranks
need no common scale, and a chunk that both rankings know beats one that a single ranking puts first.

What a boost b is worth depends on k: a user's chunk at rank r counts like another's at rank (k + r) / b - k. With the
usual k of 60 a factor of 1.5 would lift rank 31 to the top, and who spoke would decide more than what was said; with
k = 10 it lifts rank 6 to the top and rank 20 to 10.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from halo_weave.memory.records import Role

Ranks = dict[int, int]
"""Ranks from 1 by chunk id."""


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


def fused(candidates: Sequence[Candidate], *, k: int, user_boost: float) -> list[Ranked]:
    """Best first; what is equal stands in order of position."""
    by_vector = _ranks({one.id: one.similarity for one in candidates if one.similarity is not None})
    by_words = _ranks({one.id: one.word_score for one in candidates if one.word_score is not None})
    ranked = []
    for candidate in candidates:
        ranks = by_vector.get(candidate.id), by_words.get(candidate.id)
        score = sum(1 / (k + rank) for rank in ranks if rank is not None)
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


def _ranks(values: dict[int, float]) -> Ranks:
    """Equals share the last of their places: what cannot tell many chunks apart must not lift any of them."""
    ordered = sorted(values.values(), reverse=True)
    last_place = {value: place for place, value in enumerate(ordered, start=1)}
    return {chunk_id: last_place[value] for chunk_id, value in values.items()}
