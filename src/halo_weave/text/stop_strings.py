"""Finding stop strings in a text that comes in pieces, without ever showing a part of one."""

from collections.abc import Sequence
from typing import NamedTuple


class StopMatch(NamedTuple):
    """`visible` characters of the pushed text are settled; `stopped` if a stop string begins right behind them."""

    visible: int
    stopped: bool


class StopFinder:
    """Tells after each piece how much of the whole text so far can be shown for certain."""

    def __init__(self, stop: Sequence[str]) -> None:
        self._stop = tuple(string for string in stop if string)
        self._tail_start = 0
        self._tail = ""

    def push(self, piece: str) -> StopMatch:
        self._tail += piece
        found = [at for string in self._stop if (at := self._tail.find(string)) >= 0]
        if found:
            return StopMatch(self._tail_start + min(found), stopped=True)
        held = self._longest_possible_beginning()
        settled = len(self._tail) - held
        self._tail = self._tail[settled:]
        self._tail_start += settled
        return StopMatch(self._tail_start, stopped=False)

    def _longest_possible_beginning(self) -> int:
        """How many characters at the end might be the beginning of a stop string."""
        longest = max((len(string) for string in self._stop), default=0)
        for length in range(min(longest - 1, len(self._tail)), 0, -1):
            ending = self._tail[-length:]
            if any(string.startswith(ending) for string in self._stop):
                return length
        return 0
