"""Generate a reply in a worker thread, show it as it streams in, and stop it on Ctrl-C."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Protocol

from halo_weave.engine.cancellation import Cancellation
from halo_weave.session.turn.turn_state import Reply
from halo_weave.session.window.window import Window
from halo_weave.terminal.chat.showing import Showing

_LOOK_EVERY_S = 0.1


class Answering(Protocol):
    """Work on a reply that a cancellation can end."""

    def __call__(self, window: Window, *, cancellation: Cancellation) -> Reply: ...


def answer(window: Window, showing: Showing, work: Answering) -> bool:
    """Run `work` in the window and show the reply. Return True if Ctrl-C stopped it.

    The work runs in another thread. The engine calls back into Python from C, where an exception would be lost, and
    only the main thread receives signals, so the main thread stays out of the engine. On Windows a signal is noticed
    only between waits, so every wait has a timeout.
    """
    worker = _Worker(window, work)
    showing.told.clear()
    with counting_interrupts() as interrupts:
        worker.start()
        try:
            while worker.is_alive():
                showing.show_new(_LOOK_EVERY_S)
                # Cancel here rather than in the signal handler, which may interrupt code that holds the locks `cancel`
                # takes.
                if interrupts:
                    worker.cancellation.cancel()
            showing.show_new(0)
        finally:
            worker.cancellation.cancel()
            while worker.is_alive():
                worker.join(_LOOK_EVERY_S)
    showing.finish()
    if worker.error is not None:
        raise worker.error
    return bool(interrupts)


class _Worker(threading.Thread):
    def __init__(self, window: Window, work: Answering) -> None:
        super().__init__(name="reply")
        self._window = window
        self._work = work
        self.cancellation = Cancellation()
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self._work(self._window, cancellation=self.cancellation)
        except BaseException as error:
            self.error = error


@contextmanager
def counting_interrupts() -> Iterator[list[int]]:
    """Count Ctrl-C instead of raising KeyboardInterrupt."""
    counted: list[int] = []

    def count(number: int, _frame: FrameType | None) -> None:
        counted.append(number)

    previous = signal.signal(signal.SIGINT, count)
    try:
        yield counted
    finally:
        signal.signal(signal.SIGINT, previous)
