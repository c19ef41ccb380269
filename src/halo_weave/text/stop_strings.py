"""Finds stop strings in a text that arrives in pieces, without ever showing part of one."""

from collections.abc import Sequence
from typing import NamedTuple


class StopMatch(NamedTuple):
    """The first `visible` characters of the text are final; `stopped` if a stop string begins right after them."""

    visible: int
    stopped: bool


class StopFinder:
    """Tells after each piece how much of the text so far is certain to be shown."""

    def __init__(self, stop: Sequence[str]) -> None:
        self._stop = [_StopString(string) for string in dict.fromkeys(stop) if string]
        self._length = 0

    def push(self, piece: str) -> StopMatch:
        """Nothing can be pushed after a stop string was found."""
        ends = [(string, end) for string in self._stop if (end := string.push(piece)) is not None]
        if ends:
            return StopMatch(min(self._length + end - string.length for string, end in ends), stopped=True)
        self._length += len(piece)
        return StopMatch(self._length - max((string.matched for string in self._stop), default=0), stopped=False)


class _StopString:
    """One stop string. `matched` is how many of its first characters are at the end of the text.

    Uses the Knuth-Morris-Pratt algorithm, so that long strings and texts with near matches take only linear time.
    """

    def __init__(self, string: str) -> None:
        self.length = len(string)
        self.matched = 0
        self._string = string
        self._shorter = [0, 0]
        """For each number of matched characters, the next smaller number that also matches at the end of the text."""
        matched = 0
        for character in string[1:]:
            matched = self._followed(matched, character)
            self._shorter.append(matched)

    def push(self, piece: str) -> int | None:
        """Return where in the piece the string is complete, or None."""
        for end, character in enumerate(piece, 1):
            self.matched = self._followed(self.matched, character)
            if self.matched == self.length:
                return end
        return None

    def _followed(self, matched: int, character: str) -> int:
        while matched and self._string[matched] != character:
            matched = self._shorter[matched]
        return matched + (self._string[matched] == character)
