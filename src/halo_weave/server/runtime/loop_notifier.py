"""Wakes asyncio tasks from any thread when there is news."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class LoopNotifier:
    def __init__(self) -> None:
        self._sleepers: dict[asyncio.Event, asyncio.AbstractEventLoop] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._sleepers)

    @contextmanager
    def sleeper(self) -> Iterator[asyncio.Event]:
        """An event of the running loop that is set whenever there is news. First clear it, then check, then wait."""
        event = asyncio.Event()
        with self._lock:
            self._sleepers[event] = asyncio.get_running_loop()
        try:
            yield event
        finally:
            with self._lock:
                del self._sleepers[event]

    def wake(self) -> None:
        with self._lock:
            sleepers = list(self._sleepers.items())
        for event, loop in sleepers:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(event.set)
