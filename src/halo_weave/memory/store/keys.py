"""Storage of the reader's keys, by which its attention is computed without reading the text again."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

READ_REACH = 47
"""A chunk's keys may depend on the texts of this many chunks before it, by id."""


class KeyStore(Protocol):
    """Keys have an even number of values from −8 to 7, which need four bits each.

    A chunk that is deleted, undeleted or merged loses its keys, and so do the `READ_REACH` chunks after it, in the
    same transaction."""

    def put_keys(
        self, reader: str, keys: Mapping[int, NDArray[np.int8]], *, as_of: int | None = None, read: Iterable[int] = ()
    ) -> list[int]:
        """Store the keys of chunks' tokens by chunk id, replacing earlier ones of any reader; returns the stored ids.

        Skips chunks that are deleted, merged away or forgotten, and chunks that changed after `as_of`, the change
        number at which their texts were read. Stores nothing if that is true of one of `read`, the ids of all chunks
        whose texts the reader has read for these keys.
        """
        ...

    def keys_by_ids(self, reader: str, ids: Sequence[int], values: int) -> dict[int, NDArray[np.int8]]:
        """Return the keys of those chunks that have some by this reader: [tokens, values]. Damaged ones are missing."""
        ...

    def ids_without_keys(self, reader: str, after: int = 0, limit: int = 1000) -> list[int]:
        """Return ids above `after` without this reader's keys, excluding deleted and merged-away chunks."""
        ...
