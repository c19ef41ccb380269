"""Versions of the notes that the memory stores and returns."""

from datetime import datetime
from typing import NamedTuple

DEFAULT_DOCUMENT = (
    '{"_metadata":{"created":null,"last_modified":null,"description":"Notes that outlast every conversation."},'
    '"topics":{},"reminders":[],"context":{},"scratch":{}}'
)
"""The document before anything was written."""


class NotesOutline(NamedTuple):
    """A version without its document; `command` is the command that created it."""

    version: int
    time: datetime
    origin: str
    command: str
    bytes: int


class NotesRecord(NamedTuple):
    """A version of the notes; version 0 is the default document, which was never written. `document` is JSON text."""

    version: int
    time: datetime
    origin: str
    command: str
    document: str
