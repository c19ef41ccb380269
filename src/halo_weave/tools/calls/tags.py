"""Finds tool calls, the text between `<tool>` and `</tool>`, in streamed text.

Tags inside code are plain text. A second opening tag starts over, so text that mentions the tag cannot hide a call. A
tag that is never closed is plain text. The parser does not change the text.
"""

from typing import Literal, NamedTuple

from halo_weave.tools.calls.code_marks import CodeMarks

Form = Literal["tool", "tool_call"]
_OPENINGS: dict[str, Form] = {"<tool>": "tool", "<tool_call>": "tool_call"}
_LONGEST_TAG = len("</tool_call>")


class FoundCall(NamedTuple):
    """`text` is between the tags; `end` is the index in the whole text just after the closing tag.

    Models trained to call tools write `tool_call`.
    """

    form: Form
    text: str
    end: int


class TagParser:
    """Finds the same calls however the text is split into pieces."""

    def __init__(self) -> None:
        self._code = CodeMarks()
        self._read = 0
        self._tail = ""
        self._form: Form | None = None
        self._content: list[str] = []

    @property
    def is_open(self) -> bool:
        """Whether a tag has been opened and not closed yet."""
        return self._form is not None

    def push(self, piece: str) -> list[FoundCall]:
        """Return the calls that end within this piece, in order."""
        calls = (self._take(sign) for sign in piece)
        return [call for call in calls if call is not None]

    def _take(self, sign: str) -> FoundCall | None:
        self._read += 1
        self._tail = (self._tail + sign)[-_LONGEST_TAG:]
        if self._form is not None:
            self._content.append(sign)
        # The arguments of a call may contain any number of backticks.
        self._code.take(sign, blocks_only=self._form is not None)
        if sign != ">" or self._code.is_code:
            return None
        for opening, form in _OPENINGS.items():
            if self._tail.endswith(opening):
                self._form, self._content = form, []
                return None
        return self._closed() if self._form is not None and self._tail.endswith(f"</{self._form}>") else None

    def _closed(self) -> FoundCall:
        form = self._form
        assert form is not None
        text = "".join(self._content)[: -len(f"</{form}>")]
        self._form, self._content = None, []
        return FoundCall(form, text, self._read)
