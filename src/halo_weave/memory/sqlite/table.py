"""What a table of the SQLite memory declares about itself, so that damage in any of them is found in the same way."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

Columns = tuple[Any, ...]


class Table(NamedTuple):
    """`read` takes a row's columns and raises if they do not match their checksum; `describe` says what the row is.

    A table that `has_rowid` loses a damaged row by its number. The others are found by columns that may be damaged
    themselves.
    """

    name: str
    columns: tuple[str, ...]
    read: Callable[[Columns], object]
    describe: Callable[[Mapping[str, Any]], str]
    has_rowid: bool = True

    @property
    def listed(self) -> str:
        return ", ".join(f"{self.name}.{column}" for column in self.columns)
