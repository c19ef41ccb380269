"""Reads values from an untrusted file within bounds."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from halo_weave.errors import InputError
from halo_weave.records.numbers import number_of_text

MOST_DIGITS = 1_000
"""Digits of a position or turn in a file. No memory counts that far, and the whole program can handle as many."""
MOST_LEVELS = 64
"""Levels of nested lists and objects in a file's metadata."""


def number_in_file(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise InputError(f"A number has {len(text)} digits; the limit is {MOST_DIGITS}.")
    return number_of_text(text)


def shallow(metadata: dict[str, Any] | None) -> dict[str, Any] | None:
    """Refuse deep nesting. Metadata that can just be decoded here may overflow the stack of a later reader."""
    level: list[Any] = [] if metadata is None else [metadata]
    for _ in range(MOST_LEVELS):
        level = [inner for outer in level for inner in _inside(outer)]
    if level:
        raise InputError("It is nested too deeply.")
    return metadata


def in_utc(time: datetime) -> datetime:
    if time.tzinfo is None:
        raise InputError(f"The time {time.isoformat()} has no time zone.")
    try:
        return time.astimezone(UTC)
    except OverflowError:
        raise InputError(f"The time {time.isoformat()} is out of range.") from None


def _inside(outer: dict[str, Any] | list[Any]) -> Iterator[Any]:
    values = outer.values() if isinstance(outer, dict) else outer
    return (value for value in values if isinstance(value, dict | list))
