"""How full a window is: its tokens by what keeps them there, and what leaves next."""

from typing import Any

from halo_weave.session.window import Window
from halo_weave.weave.context import LiveChunk


def filling(window: Window) -> dict[str, Any]:
    """`meter` adds up to the usable tokens, frames being counted as living; `next_to_bury` is the peak of the chunk
    that would leave first, None if none would."""
    life = window.life
    with life.looking:
        tokens = life.size()
        parts = {"system": len(life.frames.beginning), "pinned": 0, "returned": 0, "current": len(window.writing)}
        for chunk in life.context:
            if (cause := _cause(window, chunk)) is not None:
                parts[cause] += len(chunk.tokens)
        total = tokens + len(window.writing)
        meter = {**parts, "living": total - sum(parts.values()), "free": max(0, window.usable_tokens - total)}
        return {
            "tokens": tokens,
            "budget": window.budget,
            "meter": meter,
            "next_to_bury": _next_to_bury(window, tokens),
        }


def _cause(window: Window, chunk: LiveChunk) -> str | None:
    if window.doing and chunk.turn in window.life.current:
        return "current"
    if chunk.is_pinned:
        return "pinned"
    return "returned" if chunk.returned else None


def _next_to_bury(window: Window, tokens: int) -> int | None:
    burials = window.life.plan_pruning(max(1, tokens - 1), window.life.current).burials
    return round(burials[0].peak) if burials else None
