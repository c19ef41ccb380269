"""The chunks that are currently deleted, by the window that wrote them, with time and reason from the audit log."""

import threading
from collections import defaultdict
from datetime import datetime
from typing import NamedTuple

from halo_weave.memory.memory import Memory
from halo_weave.records.chunks import AuditEntry, ChunkKey
from halo_weave.session.window.audit_cursor import AuditCursor
from halo_weave.session.window.deleting import SUPERSEDED
from halo_weave.session.window.reviving import window_of


class DeletionMark(NamedTuple):
    time: datetime
    is_superseded: bool


class Deletions:
    """Each deleted chunk is read once, to find the window that wrote it."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._news = AuditCursor(memory)
        self._windows: dict[ChunkKey, str] = {}
        self._deletions: defaultdict[str, dict[ChunkKey, DeletionMark]] = defaultdict(dict)
        self._lock = threading.Lock()

    def of_window(self, window_id: str) -> dict[ChunkKey, DeletionMark]:
        """The deletions among the chunks that a window wrote."""
        with self._lock:
            for entry in self._news.entries():
                self._take(entry)
            return dict(self._deletions.get(window_id, {}))

    def _take(self, entry: AuditEntry) -> None:
        if entry.action == "clear":
            self._windows.clear()
            self._deletions.clear()
        elif entry.key is not None:
            if entry.key in self._windows:
                del self._deletions[self._windows.pop(entry.key)][entry.key]
            if entry.action == "delete" and (window_id := self._writer(entry.key)) is not None:
                self._windows[entry.key] = window_id
                self._deletions[window_id][entry.key] = DeletionMark(entry.time, entry.origin == SUPERSEDED)

    def _writer(self, key: ChunkKey) -> str | None:
        stored = self._memory.chunk(key)
        return None if stored is None else window_of(stored.chunk) or None
