"""Totals over all replies since the program started, for /metrics."""

import threading
from collections import Counter

from halo_weave.session.window.events import Event


class TurnFigures:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.endings: Counter[str] = Counter()
        self.sums: Counter[str] = Counter()
        self.buried = self.resurrected = self.errors = 0

    def take(self, event: Event) -> None:
        """Listener for the events of all windows."""
        with self._lock:
            match event.kind:
                case "reply":
                    self.endings[event.data["ending"]] += 1
                case "stats" if "reply_s" in event.data:
                    for name in ("decoded", "generated", "first_token_s", "reply_s", "engine_s"):
                        self.sums[name] += event.data[name]
                case "buried":
                    self.buried += len(event.data["chunks"])
                case "resurrected":
                    self.resurrected += len(event.data["chunks"])
                case "error":
                    self.errors += 1
