"""Lists of small whole numbers as bytes: the width of an entry (1, 2 or 4), then the entries in little-endian order.

Most token ids fit into two bytes and most piece lengths into one, and a memory holds very many of them.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from halo_weave.errors import InputError

LARGEST = 2**31 - 1
_ENTRIES = {1: "<u1", 2: "<u2", 4: "<u4"}


def pack(values: Sequence[int]) -> bytes:
    """Pack with the smallest possible width, so that equal lists give equal bytes."""
    smallest, largest = (min(values), max(values)) if len(values) else (0, 0)
    if smallest < 0 or largest > LARGEST:
        raise InputError(f"{smallest if smallest < 0 else largest} is not from 0 to {LARGEST}.")
    width = 1 if largest < 2**8 else 2 if largest < 2**16 else 4
    return bytes((width,)) + np.asarray(values, dtype=_ENTRIES[width]).tobytes()


def unpack(packed: bytes) -> NDArray[np.int32]:
    require_packed(packed)
    return np.frombuffer(packed, dtype=_ENTRIES[packed[0]], offset=1).astype(np.int32)


def require_packed(packed: bytes) -> None:
    width = packed[0] if packed else 0
    if width not in _ENTRIES or packed_count(packed) * width != len(packed) - 1:
        raise InputError(f"{len(packed)} bytes with entries of {width} bytes are not a packed list.")


def packed_count(packed: bytes) -> int:
    """Count the numbers without unpacking."""
    return (len(packed) - 1) // packed[0]


def packed_total(packed: bytes) -> int:
    """Sum the numbers; without unpacking if they are small, as lengths are."""
    return sum(packed) - 1 if packed[0] == 1 else int(unpack(packed).sum(dtype=np.int64))
