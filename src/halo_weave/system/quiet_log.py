"""Logs to stderr without repetition: a message that occurs thousands of times a second is logged once a minute, with a
count."""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

_AGAIN_AFTER_S = 60.0
_MOST_MESSAGES = 256
_LONGEST_KEY = 200


def log_quietly() -> None:
    """Log warnings and errors, including those of libraries, for programs without logging settings of their own."""
    handler = logging.StreamHandler()
    handler.setLevel(logging.WARNING)
    handler.setFormatter(logging.Formatter("halo-weave: %(message)s"))
    handler.addFilter(RepeatFilter())
    logging.getLogger().addHandler(handler)


class RepeatFilter(logging.Filter):
    """Passes each message once a minute, with a count of those suppressed since. Add it to a handler."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._lock = threading.Lock()
        self._said: OrderedDict[tuple[str, ...], tuple[float, int]] = OrderedDict()
        """For each message, when it last passed and how many like it were suppressed since."""

    def filter(self, record: logging.LogRecord) -> bool:
        message, now = record.getMessage(), self._clock()
        key = (record.name, message[:_LONGEST_KEY], *_failure(record))
        with self._lock:
            said_at, left_out = self._said.get(key, (now - _AGAIN_AFTER_S, 0))
            if now - said_at < _AGAIN_AFTER_S:
                self._said[key] = said_at, left_out + 1
                return False
            self._said[key] = now, 0
            self._said.move_to_end(key)
            if len(self._said) > _MOST_MESSAGES:
                self._said.popitem(last=False)
        if left_out:
            record.msg, record.args = f"{message} ({left_out:,} similar messages were suppressed)", None
        return True


def _failure(record: logging.LogRecord) -> tuple[str, ...]:
    """Return the type and location of the exception: another exception with the same message is not a repetition."""
    if not record.exc_info or record.exc_info[0] is None:
        return ()
    kind, _, trace = record.exc_info
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = "" if trace is None else f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
    return kind.__name__, place
