"""A token as it travels between an engine, a window and the memory."""

from typing import NamedTuple


class Token(NamedTuple):
    """A token with the text it adds. Joined texts give the whole; a split character belongs to its last token."""

    id: int
    text: str
