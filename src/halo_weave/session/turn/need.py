"""How likely the reply to a message needs each chunk that a search found.

Two questions are asked one after the other: is the message about something in the memory at all, and if so, is this
chunk what it is about? `docs/composing.md` explains the answers, and `halo-weave bench need` makes their numbers.
"""

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple

from halo_weave.memory.search.search import Hit
from halo_weave.records.chunks import ChunkKey

ABOUT_THE_MEMORY_BY_WORDS = 1.3
"""Minimum word weight when no similarity is known."""
_LEAST_SHARE_OF_BEST_SCORE = 0.5
MOST_SIMILARITY, MOST_WORDS = 0.6, 3.0
"""More than this says no more: a greeting that was sent before is no more about the past, nor is a long pasted text."""


class NeedModel(NamedTuple):
    """Two logistic regressions: of a message being about the memory, on the largest similarity and word weight of its
    hits and its likeness to ordinary messages; and of a hit being needed by such a message, on how far its score is
    behind the best one and on the logarithm of its rank."""

    about: float
    similarity: float
    words: float
    likeness: float
    needed: float
    behind: float
    log_rank: float


NEED = NeedModel(about=-10.4, similarity=29.9, words=2.04, likeness=-21.5, needed=-0.47, behind=-0.2, log_rank=-0.98)


def needs_of(
    hits: Sequence[Hit], likeness: float, living: Collection[ChunkKey], model: NeedModel = NEED
) -> dict[ChunkKey, float]:
    """How likely the reply to a message needs each chunk that the search found.

    The message must be about something in the memory. For what does not live, text that lives does not count: it is
    there already.
    """
    by_score = sorted(hits, key=lambda hit: hit.score, reverse=True)
    about_anything = about_the_memory(hits, likeness, model)
    about_dormant = about_the_memory([hit for hit in hits if hit.chunk.key not in living], likeness, model)
    return {
        # Cubed: a doubtful message brings back its very best hits or nothing.
        hit.chunk.key: (about_anything if hit.chunk.key in living else about_dormant) ** 3
        * _needed(hit.score, by_score[0].score, rank, model)
        for rank, hit in enumerate(by_score, start=1)
    }


def about_the_memory(hits: Sequence[Hit], likeness: float, model: NeedModel = NEED) -> float:
    """How likely a message is about something that these hits say."""
    if any(hit.is_of_named_time for hit in hits):
        return 1.0
    similarity, words = closeness(hits)
    if similarity is None:
        return float(words >= ABOUT_THE_MEMORY_BY_WORDS)
    return _logistic(model.about + model.similarity * similarity + model.words * words + model.likeness * likeness)


def closeness(hits: Sequence[Hit]) -> tuple[float | None, float]:
    """Return the largest similarity, None if none is known, and the largest word weight."""
    words = min(MOST_WORDS, max((hit.word_weight for hit in hits), default=0.0))
    similarities = [hit.similarity for hit in hits if hit.similarity is not None]
    return (min(MOST_SIMILARITY, max(similarities)) if similarities else None), words


def _needed(score: float, best: float, rank: int, model: NeedModel) -> float:
    """How likely a hit is needed by a message about the memory."""
    if score < _LEAST_SHARE_OF_BEST_SCORE * best:
        return 0.0
    return _logistic(model.needed + model.behind * (best - score) + model.log_rank * math.log(rank))


def _logistic(log_odds: float) -> float:
    return 1 / (1 + math.exp(-log_odds))
