"""Tracks, character by character, whether text is code: in a block fenced by ``` or ~~~, or in backticks in a line.

As in CommonMark, except that an unmatched backtick affects only its own line, because later text is not known yet.
"""

from dataclasses import dataclass
from typing import NamedTuple

_SHORTEST_FENCE = 3
_LARGEST_INDENT = 3


class _Fence(NamedTuple):
    sign: str
    length: int


@dataclass
class _Line:
    """A line as read so far. `lead` counts the backticks or tildes that it begins with.

    `opening` is the fence that it opens, unless the rest of the line shows that it is inline code. `span` is the number
    of backticks that opened the current inline code, 0 outside of it. `run` is the number of backticks just read.
    """

    leads: bool = True
    indent: int = 0
    sign: str = ""
    lead: int = 0
    opening: _Fence | None = None
    span: int = 0
    run: int = 0
    rest_is_blank: bool = True

    @property
    def is_fence(self) -> bool:
        return self.indent <= _LARGEST_INDENT and self.lead >= _SHORTEST_FENCE


class CodeMarks:
    def __init__(self) -> None:
        self._fence: _Fence | None = None
        self._line = _Line()

    @property
    def is_code(self) -> bool:
        return self._fence is not None or self._line.opening is not None or self._line.span > 0

    def take(self, sign: str, *, blocks_only: bool = False) -> None:
        """Read the next character. With `blocks_only`, backticks within a line mean nothing."""
        line = self._line
        if sign == "\n":
            self._end_line(blocks_only)
        elif line.leads and sign == " " and not line.sign:
            line.indent += 1
        elif line.leads and sign in "`~" and line.sign in ("", sign):
            line.sign = sign
            line.lead += 1
        else:
            self._end_lead(blocks_only)
            line.rest_is_blank = line.rest_is_blank and sign.isspace()
            if sign == "`":
                line.run += 1
            else:
                self._end_run(blocks_only)

    def _end_lead(self, blocks_only: bool) -> None:
        """Decide what the start of the line means, now that something else follows it."""
        line = self._line
        if not line.leads:
            return
        line.leads = False
        if self._fence is not None:
            return
        if line.is_fence:
            line.opening = _Fence(line.sign, line.lead)
        if line.sign == "`" and (line.opening is not None or not blocks_only):
            line.span = line.lead

    def _end_run(self, blocks_only: bool) -> None:
        line = self._line
        run, line.run = line.run, 0
        if not run or self._fence is not None or (line.opening is not None and line.opening.sign == "~"):
            return
        line.opening = None  # a line that opens a block with backticks has no more of them
        if line.span:
            line.span = 0 if run == line.span else line.span
        elif not blocks_only:
            line.span = run

    def _end_line(self, blocks_only: bool) -> None:
        self._end_lead(blocks_only)
        self._end_run(blocks_only)
        line, fence = self._line, self._fence
        if fence is None:
            self._fence = line.opening
        elif line.is_fence and line.sign == fence.sign and line.lead >= fence.length and line.rest_is_blank:
            self._fence = None
        self._line = _Line()
