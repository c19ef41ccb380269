"""Tells how far the model is in reading its context before a reply."""

from collections.abc import Callable

from halo_weave.session.window.events import EventLog

_TOLD_EVERY_S = 0.2
_FEWEST_TOKENS = 256
"""Reading fewer takes no time worth speaking of."""


class ReadingProgress:
    """Tells `status` events with the tokens read, all tokens to read, and the seconds left. `clock` gives seconds."""

    def __init__(self, log: EventLog, clock: Callable[[], float]) -> None:
        self._log = log
        self._clock = clock
        self._started_at = clock()
        self._told_at: float | None = None

    def show(self, read: int, total: int) -> None:
        now = self._clock()
        is_almost_over = read >= total - 1  # the last token is always read by itself
        if (
            total < _FEWEST_TOKENS
            or is_almost_over
            or (self._told_at is not None and now - self._told_at < _TOLD_EVERY_S)
        ):
            return
        self._told_at = now
        seconds_left = (now - self._started_at) / read * (total - read)
        self._log.tell(
            "status",
            text=f"reading: {read:,} of {total:,} tokens, {_in_words(seconds_left)} left",
            read=read,
            total=total,
            seconds_left=round(seconds_left, 1),
        )


def _in_words(seconds: float) -> str:
    if seconds < 1:
        return "less than a second"
    return f"about {seconds:.0f} s" if seconds < 90 else f"about {seconds / 60:.0f} min"
