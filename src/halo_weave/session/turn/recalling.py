"""Decides which text returns from the memory for a message: the search finds it, `weave.resurrection` plans it."""

from halo_weave.engine.cancellation import Cancellation
from halo_weave.errors import EngineError, EngineStopped
from halo_weave.memory.search.search import Hit
from halo_weave.records.tokens import Token
from halo_weave.session.window.window import Window
from halo_weave.weave import restraint, resurrection
from halo_weave.weave.resurrection import Candidate, ResurrectionPlan

FOUND_AT_MOST = 100
PREVIEWED_TOKENS = 24
NOTHING = ResurrectionPlan((), 0)


def plan_recall(
    window: Window,
    message: str,
    budget: int,
    before: int,
    *,
    is_restrained: bool = True,
    cancellation: Cancellation | None = None,
) -> ResurrectionPlan:
    """Only chunks before the message's own position may return, not what other windows say in the meantime.

    Without restraint, everything that the search finds may return, needed or not. After a cancellation nothing returns.
    """
    if not window.settings.weave.resurrection or budget <= 0:
        return NOTHING
    if cancellation is not None and cancellation.is_cancelled:
        return NOTHING
    hits = window.memory.search(message, limit=FOUND_AT_MOST)
    if cancellation is not None and cancellation.is_cancelled:
        return NOTHING
    found = {hit.chunk.key: hit.chunk for hit in hits}
    dormant = [
        candidate_of(hit)
        for hit in hits
        if hit.chunk.key not in window.life.context and hit.chunk.first_position < before
    ]
    best_score = max((hit.score for hit in hits), default=0.0)
    candidates = restraint.needed(dormant, best_score) if is_restrained else dormant
    groups = [key for candidate in candidates for key in resurrection.group_keys(candidate.key)]
    return resurrection.plan(
        candidates,
        window.life.context.keys(),
        window.life.dormant(groups, found),
        budget=budget,
        starting=window.life.starting_brightness(),
    )


def candidate_of(hit: Hit) -> Candidate:
    return Candidate(
        key=hit.chunk.key,
        score=hit.score,
        similarity=hit.similarity,
        vector_rank=hit.vector_rank,
        word_rank=hit.word_rank,
        is_wish=hit.is_wish,
        word_weight=hit.word_weight,
        is_of_named_time=hit.is_of_named_time,
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
