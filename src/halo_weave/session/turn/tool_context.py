"""Brings the context of a saved memory back into the window, at its original positions."""

from collections.abc import Iterable, Sequence

import msgspec

from halo_weave.records.chunks import Chunk
from halo_weave.records.tree import SnapshotChunk
from halo_weave.session.window.window import Window
from halo_weave.weave import resurrection
from halo_weave.weave.living import TurnKey
from halo_weave.weave.resurrection import Candidate, ResurrectionPlan

_RECENT_TURNS = 4
"""Number of latest turns that are never buried to make space."""
_LARGEST_SHARE = 2
"""Returning chunks take at most the usable context divided by this number."""


def weave_in(window: Window, snapshot: Sequence[SnapshotChunk], cause: str, *, reserved: int) -> None:
    """Revive the chunks of a snapshot, the most similar first, and leave `reserved` tokens for the reply.

    Low-ranked chunks are buried to make space, but none of the latest turns. If a chunk has been merged since, the
    merged chunk returns. A notice reports chunks that are not in this memory.
    """
    sources = [(one, source) for one in snapshot if (source := _source(window, one)) is not None]
    if len(sources) < len(snapshot):
        missing = len(snapshot) - len(sources)
        window.log.tell(
            "notice", text=f"{missing} passages of {cause} could not return because they are not in this memory."
        )
    candidates = [Candidate(source.key, one.similarity, one.similarity) for one, source in sources]
    most = window.usable_tokens // _LARGEST_SHARE
    wanted = _plan(window, candidates, most)
    if not wanted.revivals:
        return
    _make_room(window, window.usable_tokens - reserved - wanted.tokens)
    plan = _plan(window, candidates, min(most, window.usable_tokens - reserved - window.life.size()))
    window.life.revive(_because(plan, cause))


def _source(window: Window, saved: SnapshotChunk) -> Chunk | None:
    """The current form of a saved chunk: the chunk itself, or the one that it was merged into. The text must match too,
    because in an imported memory the same key may name another chunk."""
    stored = window.memory.chunk(saved.key)
    candidates = [stored] if stored is not None else window.memory.chunks_of_turn(saved.key.turn)
    for one in candidates:
        chunk = one.chunk
        covers = chunk.first_position <= saved.first_position < chunk.end_position
        if covers and chunk.key.role == saved.key.role and not chunk.deleted and saved.text in chunk.text:
            return chunk
    return None


def _plan(window: Window, candidates: Sequence[Candidate], budget: int) -> ResurrectionPlan:
    life = window.life
    groups = [key for candidate in candidates for key in resurrection.group_keys(candidate.key)]
    return resurrection.plan(
        candidates,
        life.context.keys(),
        life.dormant(groups, {}),
        budget=budget,
        starting=life.starting_brightness(),
    )


def _make_room(window: Window, tokens: int) -> None:
    """Bury chunks until this many tokens remain, as far as possible without the latest turns."""
    with window.life.also_holding(_latest(chunk.turn for chunk in window.life.context)):
        window.life.prune(max(1, tokens))


def _latest(turns: Iterable[TurnKey]) -> frozenset[TurnKey]:
    return frozenset(sorted(set(turns))[-_RECENT_TURNS:])


def _because(plan: ResurrectionPlan, cause: str) -> ResurrectionPlan:
    revivals = (
        one if one.code == "anchor" else msgspec.structs.replace(one, reason=_reason(one.found, cause))
        for one in plan.revivals
    )
    return msgspec.structs.replace(plan, revivals=tuple(revivals))


def _reason(found: Candidate | None, cause: str) -> str:
    nearness = "" if found is None or found.similarity is None else f" (similarity {found.similarity:.2f})"
    return f"Returned with {cause}{nearness}."
