"""Cancellation of one piece of work: created before the work starts and passed down to everything it calls."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from halo_weave.errors import EngineStopped


class Cancellation:
    """Thread-safe. Once cancelled it stays cancelled, so a cancellation can never come too early."""

    def __init__(self) -> None:
        self._sources: tuple[Cancellation, ...] = ()
        self._changed = threading.Condition()
        self._is_cancelled = False
        self._canceller: int | None = None
        self._callbacks: dict[object, Callable[[], object]] = {}

    @property
    def is_cancelled(self) -> bool:
        return self._is_cancelled or any(source.is_cancelled for source in self._sources)

    def cancel(self) -> None:
        """Cancel, and return once all callbacks have returned. A second call returns immediately."""
        with self._changed:
            if self._is_cancelled:
                return
            self._is_cancelled = True
            self._canceller = threading.get_ident()
            registered = list(self._callbacks)
            self._changed.notify_all()
        # The stack calls the latest callback first, and calls all of them even if one fails.
        with ExitStack() as stack:
            for key in registered:
                stack.callback(self._call, key)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until cancelled; return False on timeout."""
        with self._changed:
            return self._changed.wait_for(lambda: self._is_cancelled, seconds)

    def require_going_on(self, work: str) -> None:
        """Raise EngineStopped if cancelled; `work` is the subject of the message."""
        if self.is_cancelled:
            raise EngineStopped(f"{work} was stopped.")

    @contextmanager
    def on_cancel(self, callback: Callable[[], object]) -> Iterator[None]:
        """Call `callback` exactly once if cancelled before the block ends, immediately if already cancelled.

        The callback runs in the cancelling thread, and the end of the block waits for it. A callback must therefore not
        wait for the work itself.
        """
        key = object()
        with self._changed:
            was_cancelled = self._is_cancelled
            if not was_cancelled:
                self._callbacks[key] = callback
        if was_cancelled:
            callback()
        try:
            yield
        finally:
            self._end(key)

    def _call(self, key: object) -> None:
        callback = self._callbacks.get(key)
        try:
            if callback is not None:
                callback()
        finally:
            with self._changed:
                self._callbacks.pop(key, None)
                self._changed.notify_all()

    def _end(self, key: object) -> None:
        with self._changed:
            # A block that ends inside another callback must not wait for its own thread.
            if self._is_cancelled and self._canceller != threading.get_ident():
                self._changed.wait_for(lambda: key not in self._callbacks)
            self._callbacks.pop(key, None)


@contextmanager
def linked(*sources: Cancellation | None) -> Iterator[Cancellation]:
    """Yield a cancellation that any of the sources cancels during the block, and that can be cancelled separately."""
    given = tuple(source for source in sources if source is not None)
    cancellation = Cancellation()
    with ExitStack() as stack:
        # A source counts as soon as it is cancelled, even before it has come to the callback.
        cancellation._sources = given
        stack.callback(setattr, cancellation, "_sources", ())
        for source in given:
            stack.enter_context(source.on_cancel(cancellation.cancel))
        yield cancellation
