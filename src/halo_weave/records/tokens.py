"""A token as engines, windows and the memory exchange it."""

from typing import NamedTuple


class Token(NamedTuple):
    """A token with the text it adds. The texts join to the whole; a split character belongs to its last token."""

    id: int
    text: str
