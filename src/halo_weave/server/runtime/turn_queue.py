"""Runs replies one at a time, because there is one model for many windows.

A window has at most one reply waiting or in progress, so first come, first served is fair: a window that has just been
answered queues behind all others.
"""

import threading
from collections import deque
from collections.abc import Callable

from halo_weave.engine.cancellation import Cancellation
from halo_weave.errors import EngineUnavailable, HaloError, StoreUnavailable, WindowBusy
from halo_weave.session.window.reloading import error_in_words
from halo_weave.session.window.window import Window
from halo_weave.system.background import BackgroundThread, count_failure

_THREAD = "turns"
TurnWork = Callable[[Cancellation], object]


class _Entry:
    """A turn from queueing to completion, with a cancellation that stops it at any point."""

    def __init__(self, window: Window, work: TurnWork) -> None:
        self.window = window
        self.work = work
        self.cancellation = Cancellation()
        self.is_last = False
        """Whether the window is being closed, so that no message may follow."""


class TurnQueue:
    """Thread-safe. `on_change` is called when a reply starts or ends, `on_lost` when an engine does not respond.

    `follow_up` gives the work that follows a reply in the same window, or None; it queues behind all other windows.
    """

    def __init__(
        self,
        on_change: Callable[[], None],
        on_lost: Callable[[EngineUnavailable], None],
        follow_up: Callable[[Window], TurnWork | None] = lambda _: None,
    ) -> None:
        self._follow_up = follow_up
        self._on_change = on_change
        self._on_lost = on_lost
        self._waiting: deque[_Entry] = deque()
        self._running: _Entry | None = None
        self._is_closed = False
        self._changed = threading.Condition()
        self._thread = BackgroundThread(_THREAD, self._run, restarts=True)
        self._thread.start()

    def __len__(self) -> int:
        """Number of waiting turns."""
        return len(self._waiting)

    def submit(self, window: Window, work: TurnWork) -> int:
        """Queue work that needs the model; returns how many turns are ahead. Errors are reported in the window.

        The work receives the turn's cancellation, which `stop` cancels.
        """
        entry = _Entry(window, work)
        with self._changed:
            if self._is_closed:
                raise StoreUnavailable("The program is shutting down; nothing was sent.")
            if self._find(window) is not None:
                raise WindowBusy(
                    f"The window {window.name} already has a reply waiting or in progress; wait for it, or stop it."
                )
            self._waiting.append(entry)
            place = len(self._waiting) - 1 + (self._running is not None)
            self._changed.notify_all()
            # Reported under the lock, so that places are reported in the order in which they change.
            if place:
                window.log.tell("queue", place=place)
            return place

    def place(self, window: Window) -> int | None:
        """How many turns are ahead of a waiting window; None if it is not waiting."""
        with self._changed:
            ahead = int(self._running is not None)
            for number, entry in enumerate(self._waiting):
                if entry.window is window:
                    return number + ahead
            return None

    def is_busy(self, window: Window) -> bool:
        with self._changed:
            return self._find(window) is not None

    def wait_until_over(self, window: Window, seconds: float) -> bool:
        """Wait until a window has no turn waiting or in progress; False on timeout."""
        with self._changed:
            return self._changed.wait_for(lambda: self._find(window) is None, seconds)

    def stop(self, window: Window, *, is_closing: bool = False) -> None:
        """Remove the window's turn from the queue, or stop its reply in progress; does nothing if there is neither.

        Unless the window is closing, a message that waits for the end of the reply is sent.
        """
        with self._changed:
            entry = self._find(window)
            if entry is not None:
                entry.is_last = is_closing
            is_waiting = entry is not None and entry is not self._running
            if entry is not None and is_waiting:
                self._waiting.remove(entry)
                self._changed.notify_all()
        if entry is None:
            window.stop()
            return
        entry.cancellation.cancel()
        if is_waiting:
            window.log.tell("queue", place=None)
            self._tell_places()

    def close(self) -> None:
        """Stop the reply in progress and wait until it is saved; report to waiting windows that nothing was sent."""
        with self._changed:
            self._is_closed = True
            given_up = list(self._waiting)
            self._waiting.clear()
            running = self._running
            self._changed.notify_all()
        for entry in given_up:
            entry.window.log.tell("queue", place=None)
            entry.window.log.tell(
                "error", text="The program shut down before this window's turn came; nothing was sent."
            )
        if running is not None:
            running.cancellation.cancel()
        self._thread.join()

    def _find(self, window: Window) -> _Entry | None:
        entries = [*self._waiting, *([self._running] if self._running else [])]
        return next((entry for entry in entries if entry.window is window), None)

    def _tell_places(self) -> None:
        with self._changed:
            ahead = int(self._running is not None)
            for number, entry in enumerate(self._waiting):
                entry.window.log.tell("queue", place=number + ahead)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._is_closed)
                if not self._waiting:
                    return
                entry = self._running = self._waiting.popleft()
                # Report the status first, so that a follower never sees the window as idle in between.
                entry.window.log.tell("status", text="beginning")
                entry.window.log.tell("queue", place=None)
            try:
                self._tell_places()
                self._on_change()
                entry.is_last = not self._do(entry) or entry.is_last
            finally:
                with self._changed:
                    self._running = None
                    self._queue_follow_up(entry)
                    self._changed.notify_all()
                self._tell_end(entry.window)

    def _queue_follow_up(self, ended: _Entry) -> None:
        work = None if ended.is_last or self._is_closed else self._follow_up(ended.window)
        if work is not None:
            self._waiting.append(_Entry(ended.window, work))
            ended.window.log.tell("queue", place=len(self._waiting) - 1)

    def _do(self, entry: _Entry) -> bool:
        """Whether it was done without an error."""
        window, before = entry.window, entry.window.log.last_number
        try:
            entry.work(entry.cancellation)
            return True
        except Exception as error:
            if not isinstance(error, HaloError):
                count_failure(_THREAD, error)
            told, words = window.log.since(before) or (), error_in_words(error)
            if not any(event.kind == "error" and event.data["text"] == words for event in told):
                window.log.tell("error", text=words)
            if isinstance(error, EngineUnavailable):
                self._on_lost(error)
            return False

    def _tell_end(self, window: Window) -> None:
        window.log.tell("status", text="")
        self._on_change()
