"""Progress of long work on stderr: one updating line on a terminal, otherwise a line every few seconds."""

import math
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Self

from halo_weave.terminal import output

_PAUSE_ON_TERMINAL_S = 0.1
_PAUSE_ELSEWHERE_S = 5.0
Clock = Callable[[], float]


class ProgressLine:
    """Shows progress. Rate and time left count from the first report, because earlier work took none of this time."""

    def __init__(self, unit: str, *, clock: Clock = time.monotonic) -> None:
        self._unit = unit
        self._clock = clock
        self._started: tuple[float, int] | None = None
        self._is_terminal = sys.stderr.isatty()
        self._shown_at = -math.inf if self._is_terminal else clock()
        self._is_line_open = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_line_open:
            sys.stderr.write("\n")
            sys.stderr.flush()

    def show(self, step: str, done: int, total: int | None) -> None:
        now = self._clock()
        if self._started is None or done < self._started[1]:
            self._started = now, done
        pause = _PAUSE_ON_TERMINAL_S if self._is_terminal else _PAUSE_ELSEWHERE_S
        is_last_on_terminal = self._is_terminal and done == total
        if now - self._shown_at < pause and not is_last_on_terminal:
            return
        self._shown_at = now
        since, before = self._started
        self._write(progress_in_words(step, done, total, self._unit, done - before, now - since))

    def _write(self, line: str) -> None:
        if not self._is_terminal:
            output.notice(line)
            return
        width = shutil.get_terminal_size().columns - 1
        sys.stderr.write(f"\r{line[:width]:<{width}}")
        sys.stderr.flush()
        self._is_line_open = True


def progress_in_words(step: str, done: int, total: int | None, unit: str, new: int, seconds: float) -> str:
    parts = [f"{step} {done:,} of {total:,} {unit}" if total is not None else f"{step} {done:,} {unit}"]
    if new > 0 and seconds > 0:
        rate = new / seconds
        parts.append(f"{rate:,.0f} per second" if rate >= 10 else f"{rate:.1f} per second")
        if total is not None and total > done:
            parts.append(f"{_duration((total - done) / rate)} left")
    return " · ".join(parts)


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


@contextmanager
def stoppable() -> Iterator[Callable[[], bool]]:
    """Let the first Ctrl-C request a stop, and a second one stop at once. Yield whether a stop was requested."""
    is_asked = False

    def ask(_signal: int, _frame: FrameType | None) -> None:
        nonlocal is_asked
        if is_asked:
            raise KeyboardInterrupt
        is_asked = True

    previous = signal.signal(signal.SIGINT, ask)
    try:
        yield lambda: is_asked
    finally:
        signal.signal(signal.SIGINT, previous)
