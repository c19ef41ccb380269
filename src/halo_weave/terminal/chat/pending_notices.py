"""A queue for notices from other threads, so that they do not interrupt a reply or the prompt."""

import queue

from halo_weave.terminal import output


class PendingNotices:
    """Any thread may call `tell`; only the main thread may call `show`."""

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
