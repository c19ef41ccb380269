"""The line under a reply: how full the context is, and what the turn took."""

from collections.abc import Mapping
from typing import Any


def status_line(stats: Mapping[str, Any], *, buried: int, resurrected: int) -> str:
    """`stats` are those of a window's event; `buried` and `resurrected` count the chunks of this turn.

    "read" are tokens that the model had to read because they were new to it.
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
    """How fast the model wrote once it had begun; None if that cannot be told."""
    seconds, steps = stats["reply_s"] - stats["first_token_s"], stats["generated"] - 1
    return steps / seconds if steps > 0 and seconds > 0 else None
