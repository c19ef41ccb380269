"""Values in a file that anybody may have made, read within bounds."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from halo_weave.errors import InputError
from halo_weave.records.numbers import number_of_text

MOST_DIGITS = 1_000
"""Of a position or turn in a file: no memory gets there by counting, and all of the program can handle so many."""
MOST_LEVELS = 64
"""Of lists and objects inside of each other in the metadata of a file."""


def number_in_file(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise InputError(f"A number has {len(text)} digits; the limit is {MOST_DIGITS}.")
    return number_of_text(text)


def shallow(metadata: dict[str, Any] | None) -> dict[str, Any] | None:
    """What can just be read here may be too deep for the next reader, who has less of the stack left."""
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
