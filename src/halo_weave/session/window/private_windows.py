"""The private windows of a program. They outlive a hub, which lasts only as long as its engine."""

from collections.abc import Callable
from datetime import datetime

from halo_weave.memory.memory import Memory
from halo_weave.records.windows import WindowOutline
from halo_weave.session.window.private_memory import PrivateMemory

PRIVATE_ID = "private-"
"""How the id of every private window begins, so that a page knows one before it has its state."""


class PrivateWindows:
    """Their memories by the ids of the windows."""

    def __init__(self) -> None:
        self._memories: dict[str, PrivateMemory] = {}

    def add(self, window_id: str, shared: Memory, clock: Callable[[], datetime]) -> None:
        self._memories[window_id] = PrivateMemory(shared, clock)

    def memory(self, window_id: str) -> PrivateMemory | None:
        return self._memories.get(window_id)

    def forget(self, window_id: str) -> bool:
        """Whether there was such a window."""
        return self._memories.pop(window_id, None) is not None

    def outlines(self) -> list[WindowOutline]:
        """Newest first."""
        records = [memory.window_store.window(window_id) for window_id, memory in list(self._memories.items())]
        return [
            WindowOutline(one.id, one.name, one.version, one.saved_at, len(one.state))
            for one in reversed(records)
            if one is not None
        ]
