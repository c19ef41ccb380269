"""Plans what returns into free room, best first, without touching what lives: the rivals' way to use a search."""

from halo_weave.session.turn.need import needs_of
from halo_weave.session.turn.recalling import FOUND_AT_MOST, candidate_of
from halo_weave.session.window.window import Window
from halo_weave.weave import resurrection
from halo_weave.weave.resurrection import ResurrectionPlan


def plan_filling(window: Window, text: str, room: int, before: int, *, is_restrained: bool) -> ResurrectionPlan:
    """Without restraint, everything that the search finds may return, needed or not."""
    life = window.life
    hits, likeness = window.memory.recollect(text, limit=FOUND_AT_MOST)
    needs = needs_of(hits, likeness, life.context.keys())
    candidates = [
        candidate_of(hit)
        for hit in hits
        if hit.chunk.key not in life.context
        and hit.chunk.first_position < before
        and (not is_restrained or needs[hit.chunk.key] >= window.settings.weave.floor)
    ]
    return resurrection.plan(
        candidates,
        life.context.keys(),
        life.dormant(
            [key for candidate in candidates for key in resurrection.group_keys(candidate.key)],
            {hit.chunk.key: hit.chunk for hit in hits},
        ),
        budget=room,
        starting=life.starting_brightness(),
    )
