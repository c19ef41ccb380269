"""What of the notes travels to and from the memory."""

from datetime import datetime
from typing import NamedTuple

DEFAULT_DOCUMENT = (
    '{"_metadata":{"created":null,"last_modified":null,"description":"Notes that outlast every conversation."},'
    '"topics":{},"reminders":[],"context":{},"scratch":{}}'
)
"""The notes before anybody wrote in them."""


class NotesOutline(NamedTuple):
    """A version without its document; `command` is what made it."""

    version: int
    time: datetime
    origin: str
    command: str
    bytes: int


class NotesRecord(NamedTuple):
    """A version of the notes; 0 is the default document, which nobody wrote. `document` is JSON, as it was written."""

    version: int
    time: datetime
    origin: str
    command: str
    document: str
