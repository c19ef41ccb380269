"""Which chunks are deleted now, when and by whom, as the record of changes tells."""

import threading
from datetime import datetime
from typing import NamedTuple

from halo_weave.memory.memory import Memory
from halo_weave.memory.records import Chunk, ChunkKey
from halo_weave.session.actions import SUPERSEDED
from halo_weave.session.news import News
from halo_weave.session.revival import WINDOW


class Deleted(NamedTuple):
    chunk: Chunk
    time: datetime
    is_superseded: bool


class Deletions:
    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._news = News(memory.store)
        self._deleted: dict[ChunkKey, tuple[datetime, str]] = {}
        self._lock = threading.Lock()

    def of_window(self, window_id: str) -> dict[ChunkKey, Deleted]:
        """What a window wrote and is deleted."""
        with self._lock:
            self._catch_up()
            known = dict(self._deleted)
        found = {}
        for key, (time, origin) in known.items():
            stored = self._memory.chunk(key)
            if stored is not None and (stored.chunk.metadata or {}).get(WINDOW) == window_id:
                found[key] = Deleted(stored.chunk, time, origin == SUPERSEDED)
        return found

    def _catch_up(self) -> None:
        for entry in self._news.entries():
            if entry.action == "clear":
                self._deleted.clear()
            elif entry.key is not None and entry.action == "delete":
                self._deleted[entry.key] = entry.time, entry.origin
            elif entry.key is not None:
                self._deleted.pop(entry.key, None)
