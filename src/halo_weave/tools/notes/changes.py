"""Lists the changes between two JSON documents as jq paths, and parses JSON without losing digits of numbers."""

import json
import math
import re
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any, Final, Literal, NamedTuple

import msgspec

from halo_weave.errors import InputError

DEEPEST = 100
_OWN = (("_metadata", "created"), ("_metadata", "last_modified"))
"""Paths that the program itself maintains; they are not reported as changes."""
_HALF = re.compile(r"\\u[dD]")
"""Matches escapes that may be surrogates, paired or not."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_MOST_SHOWN, _LONGEST_PATH, _LONGEST_VALUE, _LONGEST_LINE = 8, 80, 120, 400

_Path = tuple[str | int, ...]


class Gone(Enum):
    GONE = "gone"


GONE: Final = Gone.GONE
"""The value of a deleted path."""


class Change(NamedTuple):
    """`value` is any JSON value. A number that Python cannot represent is given as text."""

    path: str
    value: Any | Literal[Gone.GONE]


class _Number(NamedTuple):
    """A number as written."""

    text: str


def decoded(text: str) -> Any:
    """Parse JSON for comparison, not for display. Raises InputError if it is invalid or nested too deeply."""
    try:
        value = json.loads(text, parse_int=_Number, parse_float=_Number, parse_constant=_refuse_constant)
        text.encode()
        if _HALF.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise InputError(f"This is not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}.") from None
    except UnicodeEncodeError:
        raise InputError("The text has an unpaired surrogate, which cannot be saved.") from None
    except RecursionError:
        raise _too_deep() from None
    if isinstance(value, dict | list):
        _require_shallow(value, 1)
    return value


def plain(text: str) -> Any:
    """Parse JSON into plain Python values."""
    return _plain(decoded(text))


def changes(before: Any, after: Any) -> list[Change]:
    """List the changes between two `decoded` documents in the order of the new one, deletions last in each object."""
    return [Change(_path_text(path), value) for path, value in _changed(before, after, ()) if path not in _OWN]


def in_words(changed: Sequence[Change]) -> str:
    """Describe changes on one line of bounded length: `.context.name = "Ann"; .scratch.old deleted`."""
    told = [_told(change) for change in changed[:_MOST_SHOWN]]
    if len(changed) > _MOST_SHOWN:
        told.append(f"and {len(changed) - _MOST_SHOWN} more")
    return _short("; ".join(told), _LONGEST_LINE) or "nothing changed"


def _changed(before: Any, after: Any, path: _Path) -> Iterator[tuple[_Path, Any]]:
    if before == after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for name, value in after.items():
            if name in before:
                yield from _changed(before[name], value, (*path, name))
            else:
                yield (*path, name), _plain(value)
        yield from (((*path, name), GONE) for name in before if name not in after)
    elif isinstance(before, list) and isinstance(after, list) and _can_go_by_place(before, after):
        for place, value in enumerate(after):
            if place < len(before):
                yield from _changed(before[place], value, (*path, place))
            else:
                yield (*path, place), _plain(value)
    else:
        yield path, _plain(after)


def _can_go_by_place(before: list[Any], after: list[Any]) -> bool:
    """Whether items were only replaced or appended. Otherwise the whole list is the clearest change."""
    return len(before) == len(after) or (0 < len(before) < len(after) and after[: len(before)] == before)


def _path_text(path: _Path) -> str:
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif _NAME.fullmatch(part):
            text += f".{part}"
        else:
            text += f"[{json.dumps(part, ensure_ascii=False)}]"
    return text if text.startswith(".") else f".{text}"


def _plain(value: Any) -> Any:
    match value:
        case _Number(text):
            return _plain_number(text)
        case dict():
            return {name: _plain(part) for name, part in value.items()}
        case list():
            return [_plain(part) for part in value]
    return value


def _plain_number(text: str) -> int | float | str:
    try:
        return int(text)
    except ValueError:
        number = float(text)
    return number if math.isfinite(number) else text


def _told(change: Change) -> str:
    path = _short(change.path, _LONGEST_PATH)
    if change.value is GONE:
        return f"{path} deleted"
    return f"{path} = {_short(msgspec.json.encode(change.value).decode(), _LONGEST_VALUE)}"


def _short(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _require_shallow(value: dict[str, Any] | list[Any], depth: int) -> None:
    if depth > DEEPEST:
        raise _too_deep()
    for part in value.values() if isinstance(value, dict) else value:
        if isinstance(part, dict | list):
            _require_shallow(part, depth + 1)


def _too_deep() -> InputError:
    return InputError(f"The notes may not be nested more than {DEEPEST} levels deep.")


def _refuse_constant(name: str) -> None:
    raise json.JSONDecodeError(f"{name} is not a number", name, 0)
