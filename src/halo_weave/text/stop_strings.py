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
        self._stop = [_StopString(string) for string in dict.fromkeys(stop) if string]
        self._length = 0

    def push(self, piece: str) -> StopMatch:
        """Behind a stop string nothing more can be pushed."""
        ends = [(string, end) for string in self._stop if (end := string.push(piece)) is not None]
        if ends:
            return StopMatch(min(self._length + end - string.length for string, end in ends), stopped=True)
        self._length += len(piece)
        return StopMatch(self._length - max((string.matched for string in self._stop), default=0), stopped=False)


class _StopString:
    """One of them; `matched` is how many of its characters, from its first, stand at the end of the text.

    By Knuth, Morris and Pratt, so that neither a long string nor a text that almost has it costs more than its length.
    """

    def __init__(self, string: str) -> None:
        self.length = len(string)
        self.matched = 0
        self._string = string
        self._shorter = [0, 0]
        """For each number of matched characters the next smaller one that may stand at the end of the text as well."""
        matched = 0
        for character in string[1:]:
            matched = self._followed(matched, character)
            self._shorter.append(matched)

    def push(self, piece: str) -> int | None:
        """Where in the piece the string is complete, if it is."""
        for end, character in enumerate(piece, 1):
            self.matched = self._followed(self.matched, character)
            if self.matched == self.length:
                return end
        return None

    def _followed(self, matched: int, character: str) -> int:
        while matched and self._string[matched] != character:
            matched = self._shorter[matched]
        return matched + (self._string[matched] == character)
