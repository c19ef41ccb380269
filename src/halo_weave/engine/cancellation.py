"""One cancellation per piece of work: made before the work starts, and passed down to everything that it calls."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from halo_weave.errors import EngineStopped


class Cancellation:
    """May be used from any thread. Once cancelled it stays so, and therefore no cancellation can come too early."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._is_cancelled = False
        self._canceller: int | None = None
        self._callbacks: dict[object, Callable[[], object]] = {}

    @property
    def is_cancelled(self) -> bool:
        return self._is_cancelled

    def cancel(self) -> None:
        """Returns when all callbacks have returned. A second call does nothing and waits for nothing."""
        with self._changed:
            if self._is_cancelled:
                return
            self._is_cancelled = True
            self._canceller = threading.get_ident()
            registered = list(self._callbacks)
            self._changed.notify_all()
        # The stack calls the latest first, and all of them even if one fails.
        with ExitStack() as stack:
            for key in registered:
                stack.callback(self._call, key)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until it is cancelled; False if the time ends first."""
        with self._changed:
            return self._changed.wait_for(lambda: self._is_cancelled, seconds)

    def require_going_on(self, work: str) -> None:
        """EngineStopped if it is cancelled; `work` is the subject of the message."""
        if self._is_cancelled:
            raise EngineStopped(f"{work} was stopped.")

    @contextmanager
    def on_cancel(self, callback: Callable[[], object]) -> Iterator[None]:
        """Call back exactly once if it is cancelled before the block ends; at once if it is cancelled already.

        The callback runs in the thread that cancels, and the end of the block waits for it, so a callback must not wait
        for the work itself.
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
            # Whoever ends the block from within another callback cannot wait for its own thread.
            if self._is_cancelled and self._canceller != threading.get_ident():
                self._changed.wait_for(lambda: key not in self._callbacks)
            self._callbacks.pop(key, None)


@contextmanager
def linked(*sources: Cancellation | None) -> Iterator[Cancellation]:
    """A cancellation that any of the sources cancels while the block lasts, and that can be cancelled alone."""
    cancellation = Cancellation()
    with ExitStack() as stack:
        for source in sources:
            if source is not None:
                stack.enter_context(source.on_cancel(cancellation.cancel))
        yield cancellation
