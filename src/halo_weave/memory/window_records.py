"""What of windows travels to and from the memory."""

from datetime import datetime
from typing import NamedTuple

import msgspec

from halo_weave.errors import InputError
from halo_weave.memory.records import require_aware, require_whole_characters

_LARGEST_VERSION = 2**63 - 1


class WindowOutline(NamedTuple):
    id: str
    name: str
    version: int
    saved_at: datetime
    bytes: int


class WindowRecord(msgspec.Struct, frozen=True):
    """A window as it was saved; `version` counts how often it was, from 1, and is 0 before the first time."""

    id: str
    name: str
    state: bytes
    version: int
    saved_at: datetime

    def __post_init__(self) -> None:
        for text in (self.id, self.name):
            require_whole_characters(f"window {self.id!r}", text)
        if type(self.version) is not int or not 0 <= self.version < _LARGEST_VERSION:
            raise InputError(f"The version {self.version!r} of window {self.id} is not a whole number from 0 on.")
        require_aware(f"window {self.id}", self.saved_at)


class JournalEntry(NamedTuple):
    """What a window noted down about a turn under way."""

    turn: int
    payload: bytes
