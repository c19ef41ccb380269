"""Parses a call in function form: `save_memory("Goals/Trip", {"to": "Rome"}, context_tokens=500)`.

Values are JSON. Python's True, False and None and single-quoted strings are accepted too.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from halo_weave.errors import InputError

_HEAD = re.compile(r"\s*(?:await\s+)?([A-Za-z_]\w*)\s*\(", re.ASCII)
_NAMED = re.compile(r"([A-Za-z_]\w*)\s*[=:](?!=)\s*", re.ASCII)
_TAIL = re.compile(r"\)\s*(?:;\s*)?")
_SINGLE_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'", re.DOTALL)
_WORDS = {"True": True, "False": False, "None": None}
_WORD = re.compile("|".join(_WORDS))
_JSON = json.JSONDecoder(strict=False)
_WORD_BREAK = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


class FunctionCall(NamedTuple):
    """Positional and named arguments of a call."""

    name: str
    by_place: Sequence[Any]
    by_name: dict[str, Any]


def is_function_form(text: str) -> bool:
    return _HEAD.match(text) is not None


def parse_function_form(text: str) -> FunctionCall:
    """Raises InputError if the text is not a call or continues after it. `saveMemory` becomes `save_memory`."""
    head = _HEAD.match(text)
    if head is None:
        raise InputError('A call is a name with arguments in parentheses, such as list_memory("Goals").')
    reader = _Reader(text, head.end())
    reader.read()
    return FunctionCall(_snake(head[1]), reader.by_place, reader.by_name)


class _Reader:
    def __init__(self, text: str, at: int) -> None:
        self._text = text
        self._at = at
        self.by_place: list[Any] = []
        self.by_name: dict[str, Any] = {}

    def read(self) -> None:
        self._skip_space()
        while not self._text.startswith(")", self._at):
            self._read_argument()
            self._skip_space()
            if self._text.startswith(",", self._at):
                self._at += 1
                self._skip_space()
            elif not self._text.startswith(")", self._at):
                raise self._refusal("a comma or the closing parenthesis is missing")
        if not _TAIL.fullmatch(self._text, self._at):
            raise self._refusal("there is text after the closing parenthesis")

    def _read_argument(self) -> None:
        named = _NAMED.match(self._text, self._at)
        if named is None:
            if self.by_name:
                raise self._refusal("a positional argument follows a named one")
            self.by_place.append(self._read_value())
            return
        name = _snake(named[1])
        if name in self.by_name:
            raise self._refusal(f"{name} is given twice")
        self._at = named.end()
        self.by_name[name] = self._read_value()

    def _read_value(self) -> Any:
        if (quoted := _SINGLE_QUOTED.match(self._text, self._at)) is not None:
            self._at = quoted.end()
            return self._decoded(_double_quoted(quoted[1]), 0)[0]
        if (word := _WORD.match(self._text, self._at)) is not None:
            self._at = word.end()
            return _WORDS[word[0]]
        value, self._at = self._decoded(self._text, self._at)
        return value

    def _decoded(self, text: str, at: int) -> tuple[Any, int]:
        try:
            return _JSON.raw_decode(text, at)
        except (ValueError, RecursionError):
            raise self._refusal("the value is not valid JSON") from None

    def _skip_space(self) -> None:
        while self._at < len(self._text) and self._text[self._at].isspace():
            self._at += 1

    def _refusal(self, what: str) -> InputError:
        return InputError(f"The call is not valid at index {self._at}: {what}.")


def _double_quoted(inner: str) -> str:
    """Convert the inside of a single-quoted string to a JSON string."""
    unescaped = inner.replace("\\'", "'")
    return '"' + re.sub(r'(\\.)|"', lambda found: found[1] or '\\"', unescaped, flags=re.DOTALL) + '"'


def _snake(name: str) -> str:
    return _WORD_BREAK.sub("_", name).lower()
