"""Background threads that never die silently.

A failure is logged, counted by thread name for /metrics, and reported to the owner of the thread. A thread with
`restarts` runs its work again after a pause that grows with each failure in a row.
"""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 30.0
_log = logging.getLogger(__name__)
_lock = threading.Lock()
_failures: Counter[str] = Counter()


def count_failure(name: str, error: Exception) -> None:
    """Log and count an unexpected failure of the named background thread."""
    _log.error("The background thread %s failed.", name, exc_info=error)
    with _lock:
        _failures[name] += 1


def failures() -> dict[str, int]:
    """Unexpected failures since the process started, by thread name."""
    with _lock:
        return dict(_failures)


def failure_in_words(name: str, error: Exception) -> str:
    return f"The background thread {name} failed ({type(error).__name__}: {str(error)[:200]}); see the log for details."


class BackgroundThread(threading.Thread):
    """Runs `work` as a daemon thread until it returns. An exception ends the thread unless it restarts.

    `on_failure` receives a sentence about each failure. `give_up` ends a thread that waits to restart.
    """

    def __init__(
        self,
        name: str,
        work: Callable[[], object],
        *,
        restarts: bool = False,
        on_failure: Callable[[str], object] | None = None,
        first_pause_s: float = _FIRST_PAUSE_S,
    ) -> None:
        super().__init__(name=name, daemon=True)
        self._work = work
        self._restarts = restarts
        self._on_failure = on_failure
        self._first_pause_s = first_pause_s
        self._is_given_up = threading.Event()

    def give_up(self) -> None:
        """Do not run the work again after a failure."""
        self._is_given_up.set()

    def run(self) -> None:
        pause_s = self._first_pause_s
        while True:
            begun = time.monotonic()
            try:
                self._work()
                return
            except Exception as error:
                self._report(error)
            if not self._restarts:
                return
            if time.monotonic() - begun > _LONGEST_PAUSE_S:
                pause_s = self._first_pause_s
            if self._is_given_up.wait(pause_s):
                return
            pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)

    def _report(self, error: Exception) -> None:
        count_failure(self.name, error)
        if self._on_failure is not None:
            try:
                self._on_failure(failure_in_words(self.name, error))
            except Exception:
                _log.exception("The failure of the background thread %s could not be reported.", self.name)
