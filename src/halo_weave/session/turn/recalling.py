"""Searches the memory with a message, and plans the context for it: what stays, what returns and what leaves.

A search always finds a closest chunk, even for "Hello!". `needs_of` turns its results into probabilities that the reply
needs a chunk; most are 0. `docs/composing.md` explains how its numbers were chosen.
"""

import math
from collections.abc import Collection, Iterable, Sequence

from halo_weave.engine.cancellation import Cancellation
from halo_weave.errors import EngineError, EngineStopped
from halo_weave.memory.search.search import Hit
from halo_weave.records.chunks import ChunkKey
from halo_weave.records.tokens import Token
from halo_weave.session.window.window import Window
from halo_weave.weave.composing import ContextPlan
from halo_weave.weave.resurrection import Candidate

FOUND_AT_MOST = 100
PREVIEWED_TOKENS = 24
FLOOR = 0.0005
"""Text that is less likely to be needed does not return, even if it costs nothing."""
ABOUT_THE_MEMORY = 0.68
"""Minimum of best similarity plus weighted words; 98 of 100 questions with an answer in the memory reach it."""
ABOUT_THE_MEMORY_BY_WORDS = 1.3
"""Minimum word weight when no similarity is known."""
_WORDS_SHARE = 0.2
_LEAST_SHARE_OF_BEST_SCORE = 0.5
_BEST, _BEHIND_BEST, _LOG_RANK = -0.43, -0.46, -1.0
"""A logistic regression of being needed on how far a score is behind the best one and on the logarithm of its rank."""


def plan_context(
    window: Window, message: str, budget: int, before: int, *, cancellation: Cancellation | None = None
) -> ContextPlan:
    """Plan the context for a message, which comes on top of the budget.

    Only chunks before the message's own position may return, not what other windows say in the meantime. After a
    cancellation nothing returns.
    """
    hits: list[Hit] = []
    if window.settings.weave.resurrection and not (cancellation is not None and cancellation.is_cancelled):
        hits = [hit for hit in window.memory.search(message, limit=FOUND_AT_MOST) if hit.chunk.first_position < before]
    if cancellation is not None and cancellation.is_cancelled:
        hits = []
    needs = needs_of(hits, window.life.context.keys())
    candidates = [candidate_of(hit, needs[hit.chunk.key]) for hit in hits if hit.chunk.key not in window.life.context]
    needed = [candidate for candidate in candidates if candidate.need >= FLOOR]
    known = {hit.chunk.key: hit.chunk for hit in hits}
    return window.life.plan_context(needed, known, needs=needs, floor=FLOOR, budget=budget)


def needs_of(hits: Sequence[Hit], living: Collection[ChunkKey]) -> dict[ChunkKey, float]:
    """How likely the reply to a message needs each chunk that the search found.

    The message must be about something in the memory. For what does not live, text that lives does not count: it is
    there already.
    """
    by_score = sorted(hits, key=lambda hit: hit.score, reverse=True)
    is_about_anything = _is_about(hits)
    is_about_dormant = _is_about(hit for hit in hits if hit.chunk.key not in living)
    return {
        hit.chunk.key: _need(hit.score, by_score[0].score, rank)
        if (is_about_anything if hit.chunk.key in living else is_about_dormant)
        else 0.0
        for rank, hit in enumerate(by_score, start=1)
    }


def _need(score: float, best: float, rank: int) -> float:
    if score < _LEAST_SHARE_OF_BEST_SCORE * best:
        return 0.0
    return 1 / (1 + math.exp(-(_BEST + _BEHIND_BEST * (best - score) + _LOG_RANK * math.log(rank))))


def _is_about(hits: Iterable[Hit]) -> bool:
    hits = list(hits)
    if any(hit.is_of_named_time for hit in hits):
        return True
    words = max((hit.word_weight for hit in hits), default=0.0)
    similarities = [hit.similarity for hit in hits if hit.similarity is not None]
    if not similarities:
        return words >= ABOUT_THE_MEMORY_BY_WORDS
    return max(similarities) + _WORDS_SHARE * words >= ABOUT_THE_MEMORY


def candidate_of(hit: Hit, need: float = 0.0) -> Candidate:
    return Candidate(
        key=hit.chunk.key,
        score=hit.score,
        similarity=hit.similarity,
        vector_rank=hit.vector_rank,
        word_rank=hit.word_rank,
        is_wish=hit.is_wish,
        word_weight=hit.word_weight,
        is_of_named_time=hit.is_of_named_time,
        need=need,
    )


def with_preview(window: Window, message: str, tokens: list[Token], cancellation: Cancellation) -> str:
    """The message and, if the setting is on, the first words of the model's likely reply."""
    if not window.settings.preview.is_on:
        return message
    try:
        window.sync(window.life.layout(), cancellation=cancellation)
        ids = [token.id for token in tokens]
        begun = window.engine_context.preview(ids, PREVIEWED_TOKENS, cancellation=cancellation)
    except EngineStopped:
        return message
    except EngineError as error:
        window.log.tell("notice", text=f"The memory was searched without a preview: {error}")
        return message
    return message + "\n" + "".join(token.text for token in begun)
