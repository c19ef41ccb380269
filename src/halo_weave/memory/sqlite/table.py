"""A table's description of itself, so that damage is found in the same way in all tables."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

Columns = tuple[Any, ...]


class Table(NamedTuple):
    """`read` takes a row's columns and raises if they do not match their checksum; `describe` names the row.

    If the table `has_rowid`, a damaged row is deleted by its rowid. Otherwise rows can be found only by columns that
    may be damaged themselves.
    """

    name: str
    columns: tuple[str, ...]
    read: Callable[[Columns], object]
    describe: Callable[[Mapping[str, Any]], str]
    has_rowid: bool = True

    @property
    def listed(self) -> str:
        return ", ".join(f"{self.name}.{column}" for column in self.columns)
