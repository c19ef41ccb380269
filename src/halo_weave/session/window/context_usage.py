"""How full a window's context is: its tokens by category, and the chunks that leave next."""

from typing import Any

from halo_weave.session.window.chunk_json import key_to_json
from halo_weave.session.window.window import Window
from halo_weave.weave.context import LiveChunk
from halo_weave.weave.pruning import Burial

NEARLY_FULL = 0.75
"""Share of the limit above which the next burials are reported; below it the prediction would be wrong."""


def context_counts(window: Window) -> dict[str, Any]:
    """`tokens` includes the reply under way. `meter` adds up to the usable tokens; frames count as living."""
    life = window.life
    with life.lock:
        total = life.size() + len(window.writing)
        notes = min(window.note_tokens, len(life.frames.beginning))
        system = len(life.frames.beginning) - notes
        parts = {"system": system, "notes": notes, "pinned": 0, "returned": 0, "current": len(window.writing)}
        for chunk in life.context:
            if (cause := _cause(window, chunk)) is not None:
                parts[cause] += len(chunk.tokens)
        meter = {**parts, "living": total - sum(parts.values()), "free": max(0, window.usable_tokens - total)}
        buried = life.burial_log.totals()
        return {
            "tokens": total,
            "budget": window.budget,
            "meter": meter,
            "buried": buried.chunks,
            "buried_tokens": buried.tokens,
        }


def context_usage(window: Window) -> dict[str, Any]:
    """The counts, and what leaves next. `next_keys` are the chunks that leave first, empty while there is plenty of
    space. `next_to_bury` is their highest peak if brightness alone decides, otherwise None."""
    with window.life.lock:
        by_brightness = window.settings.weave.keeps_by == "brightness"
        burials = _next_burials(window, window.life.size())
        return {
            **context_counts(window),
            "next_to_bury": round(max(one.peak for one in burials)) if burials and by_brightness else None,
            "next_keys": [key_to_json(one.key) for one in burials],
        }


def _next_burials(window: Window, tokens: int) -> tuple[Burial, ...]:
    room = window.usable_tokens - window.settings.generation.max_tokens
    if tokens <= NEARLY_FULL * min(window.budget or room, room):
        return ()
    return window.life.plan_pruning(max(1, tokens - 1), window.life.current).burials


def _cause(window: Window, chunk: LiveChunk) -> str | None:
    if window.doing and chunk.turn in window.life.current:
        return "current"
    if chunk.is_pinned:
        return "pinned"
    return "returned" if chunk.returned else None
