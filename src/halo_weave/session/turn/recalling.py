"""Searches the memory with a message, and plans the context for it: what stays, what returns and what leaves.

A search always finds a closest chunk, even for "Hello!"; `need` tells what of it the reply needs.
"""

from collections.abc import Iterable

import msgspec

from halo_weave.engine.cancellation import Cancellation
from halo_weave.errors import EngineError, EngineStopped
from halo_weave.memory.search.search import Hit, Recollection
from halo_weave.records.tokens import Token
from halo_weave.session.turn.need import needs_of
from halo_weave.session.window.window import Window
from halo_weave.weave.composing import ContextPlan
from halo_weave.weave.resurrection import Candidate

FOUND_AT_MOST = 100
PREVIEWED_TOKENS = 24


def plan_context(
    window: Window, message: str, budget: int, before: int, *, cancellation: Cancellation | None = None
) -> ContextPlan:
    """Plan the context for a message, which comes on top of the budget.

    Only chunks before the message's own position may return, not what other windows say in the meantime. After a
    cancellation nothing returns.
    """
    found = Recollection([])
    if window.settings.weave.resurrection and not (cancellation is not None and cancellation.is_cancelled):
        found = window.memory.recollect(message, limit=FOUND_AT_MOST)
    if cancellation is not None and cancellation.is_cancelled:
        found = Recollection([])
    hits = [hit for hit in found.hits if hit.chunk.first_position < before]
    needs = needs_of(hits, found.likeness, window.life.context.keys())
    candidates = [candidate_of(hit, needs[hit.chunk.key]) for hit in hits if hit.chunk.key not in window.life.context]
    weave = window.settings.weave
    needed = [candidate for candidate in candidates if candidate.need >= weave.floor]
    known = {hit.chunk.key: hit.chunk for hit in hits}
    plan = window.life.plan_context(
        needed, known, needs=needs, floor=weave.floor, most_read=weave.recall_tokens, budget=budget
    )
    return _with_words(window, message, plan, hits)


def _with_words(window: Window, message: str, plan: ContextPlan, hits: Iterable[Hit]) -> ContextPlan:
    """Add the words that the message looks at to what returns because it was found; not to all hits, which takes
    longer."""
    returning = {revival.key for revival in plan.returns if revival.code == "found"}
    found = window.memory.with_words((hit for hit in hits if hit.chunk.key in returning), message)
    looked_at = {hit.chunk.key: hit.looked_at for hit in found}
    returns = (msgspec.structs.replace(revival, looked_at=looked_at.get(revival.key, ())) for revival in plan.returns)
    return msgspec.structs.replace(plan, returns=tuple(returns))


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
