"""Words about the conversation from other threads, which wait until they do not fall into anything."""

import queue

from halo_weave.terminal import output


class PendingNotices:
    """`tell` may be called from any thread; only the main thread shows."""

    def __init__(self) -> None:
        self._waiting: queue.SimpleQueue[str] = queue.SimpleQueue()

    def tell(self, text: str) -> None:
        self._waiting.put(text)

    def show(self) -> None:
        while True:
            try:
                output.notice(self._waiting.get_nowait())
            except queue.Empty:
                return
