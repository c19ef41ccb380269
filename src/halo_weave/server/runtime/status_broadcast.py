"""News about the whole program. Only the latest news of each kind counts, so that listeners cannot fall behind."""

import threading
import time
from typing import Literal

from halo_weave.server.runtime.loop_notifier import LoopNotifier

NewsKind = Literal["status", "windows", "jobs"]


class StatusBroadcast:
    def __init__(self) -> None:
        self.notifier = LoopNotifier()
        self._number = time.time_ns() // 1_000_000
        self._numbers: dict[NewsKind, int] = {}
        self._lock = threading.Lock()

    @property
    def number(self) -> int:
        return self._number

    def tell(self, *kinds: NewsKind) -> None:
        with self._lock:
            for kind in kinds:
                self._number += 1
                self._numbers[kind] = self._number
        self.notifier.wake()

    def number_of(self, kind: NewsKind) -> int:
        """The number of the latest news of this kind; 0 if there was none."""
        with self._lock:
            return self._numbers.get(kind, 0)

    def since(self, number: int) -> list[tuple[int, NewsKind]]:
        """The kinds with news after `number`, oldest first."""
        with self._lock:
            return sorted((told, kind) for kind, told in self._numbers.items() if told > number)
