"""Windows, burials and journal entries that the memory stores and returns."""

import math
from datetime import datetime
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from halo_weave.errors import InputError
from halo_weave.records.chunks import ChunkKey, Stored, require_aware, require_whole_characters

WINDOW = "window"
"""The metadata entry of a chunk that names the window that wrote it."""

_LARGEST_VERSION = 2**63 - 1
_BRIGHTNESS_TYPE = "<f4"


class WindowOutline(NamedTuple):
    """`folder` is empty outside of folders. `place` counts from 0 among the windows of a folder that somebody has put
    in order, and is None for the others."""

    id: str
    name: str
    version: int
    saved_at: datetime
    bytes: int
    folder: str = ""
    place: int | None = None


class WindowRecord(msgspec.Struct, frozen=True):
    """A saved window. `version` counts the saves; it is 0 before the first one."""

    id: str
    name: str
    state: bytes
    version: int
    saved_at: datetime

    def __post_init__(self) -> None:
        for text in (self.id, self.name):
            require_whole_characters(f"window {self.id!r}", text)
        if type(self.version) is not int or not 0 <= self.version < _LARGEST_VERSION:
            raise InputError(f"The version {self.version!r} of window {self.id} is not a whole number of at least 0.")
        require_aware(f"window {self.id}", self.saved_at)


class BurialPlace(NamedTuple):
    """A burial's place in the order of a window's burials, which is by time."""

    time: datetime
    key: ChunkKey


class BurialRecord(msgspec.Struct, frozen=True):
    """A buried chunk: its position, the peak brightness that it had reached, and why and when it was buried.

    `brightness` is packed, one value per token; empty if unknown, as in burials of earlier versions.
    """

    key: ChunkKey
    first_position: int
    peak: float
    reason: str
    time: datetime
    brightness: bytes = b""

    def __post_init__(self) -> None:
        require_whole_characters(f"the burial of chunk {self.key}", self.reason)
        if not math.isfinite(self.peak):
            raise InputError(f"The peak {self.peak!r} of the burial of chunk {self.key} is not a number.")
        require_aware(f"the burial of chunk {self.key}", self.time)

    @property
    def place(self) -> BurialPlace:
        return BurialPlace(self.time, self.key)

    def token_brightness(self) -> tuple[float, ...]:
        return tuple(np.frombuffer(self.brightness, dtype=_BRIGHTNESS_TYPE).tolist())


def packed_brightness(values: NDArray[np.float32]) -> bytes:
    return values.astype(_BRIGHTNESS_TYPE).tobytes()


class BurialGap(NamedTuple):
    """The buried chunks between two positions, and the time range in which they were said; `keys` are the first few."""

    chunks: int
    tokens: int
    since: datetime
    until: datetime
    newest: BurialRecord
    keys: tuple[ChunkKey, ...]


class TimelineEntry(NamedTuple):
    """A change of a window's context. `number` is the window's version that was saved with it, `previous` the number of
    the entry before it (0 if it is the first)."""

    number: int
    previous: int
    time: datetime
    payload: bytes


class ChunkPage(NamedTuple):
    """Some of a window's own chunks in order; `has_more` if others follow in the direction of the request."""

    chunks: list[Stored]
    has_more: bool


class JournalEntry(NamedTuple):
    """What a window recorded about a turn under way."""

    turn: int
    payload: bytes
