"""The status line under a reply: context usage, and the cost of the turn."""

from collections.abc import Mapping
from typing import Any


def status_line(stats: Mapping[str, Any], *, buried: int, resurrected: int) -> str:
    """Format the `stats` of a window event; `buried` and `resurrected` count this turn's chunks.

    "read" counts the new tokens that the model had to process.
    """
    budget = f"/{stats['budget']:,}" if stats["budget"] else ""
    parts = [
        f"context {stats['tokens']:,}{budget}",
        f"archived {buried:,}",
        f"returned {resurrected:,}",
        f"read {stats['decoded']:,}",
    ]
    if (speed := tokens_per_second(stats)) is not None:
        parts.append(f"{speed:,.1f} tokens/s")
    return " · ".join(parts)


def tokens_per_second(stats: Mapping[str, Any]) -> float | None:
    """Return how fast the model wrote after its first token, or None if too little was measured."""
    seconds, steps = stats["reply_s"] - stats["first_token_s"], stats["generated"] - 1
    return steps / seconds if steps > 0 and seconds > 0 else None
