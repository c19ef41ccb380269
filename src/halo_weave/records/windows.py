"""What of windows travels to and from the memory."""

import math
from datetime import datetime
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from halo_weave.errors import InputError
from halo_weave.records.chunks import ChunkKey, require_aware, require_whole_characters

_LARGEST_VERSION = 2**63 - 1
_BRIGHTNESS_TYPE = "<f4"


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
            raise InputError(f"The version {self.version!r} of window {self.id} is not a whole number of at least 0.")
        require_aware(f"window {self.id}", self.saved_at)


class BurialPlace(NamedTuple):
    """Where a burial stands among all of a window, which are in order of time."""

    time: datetime
    key: ChunkKey


class BurialRecord(msgspec.Struct, frozen=True):
    """What a window buried: where it stood, the peak brightness that it had earned, why, and when.

    `brightness` is that of each token, packed; empty if it is not known, as in burials of earlier versions.
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
    """Buried chunks between two positions, from when to when they were said; `keys` are the first of them."""

    chunks: int
    tokens: int
    since: datetime
    until: datetime
    newest: BurialRecord
    keys: tuple[ChunkKey, ...]


class JournalEntry(NamedTuple):
    """What a window noted down about a turn under way."""

    turn: int
    payload: bytes
