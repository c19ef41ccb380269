"""Thread pools, one per kind of request, so that slow requests of one kind never block those of another."""

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

TRANSFERS_AT_ONCE = 4


class Lanes(NamedTuple):
    health: ThreadPoolExecutor
    """Health checks and status."""
    chat: ThreadPoolExecutor
    """Windows and the actions in them."""
    memory: ThreadPoolExecutor
    """Search, notes, memory tree and settings."""
    rendering: ThreadPoolExecutor
    """Markdown, one text at a time, because its child process takes one at a time."""
    transfer: ThreadPoolExecutor
    """Copies of the whole memory, which may take minutes."""

    def shut_down(self) -> None:
        for lane in self:
            lane.shutdown(wait=False, cancel_futures=True)


def new_lanes() -> Lanes:
    return Lanes(
        health=_lane("health", 4),
        chat=_lane("chat", 16),
        memory=_lane("memory", 8),
        rendering=_lane("rendering", 1),
        transfer=_lane("transfer", TRANSFERS_AT_ONCE),
    )


def _lane(name: str, threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix=f"server-{name}")
