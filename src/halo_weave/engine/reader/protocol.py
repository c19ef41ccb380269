"""The reader protocol: keys for text, queries for questions."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.int8]
"""Shape [tokens, values of a key]. The values are small, so that two of them can be stored in a byte."""

SMALLEST_VALUE, LARGEST_VALUE = -8, 7

CONTEXT_TOKENS = 256
"""Text before a block that is read with it."""


class Look(NamedTuple):
    """What a question looks for: a query for each of its words that count, and their weights, which add up to 1.

    `queries` are scaled so that their product with stored keys is the head's attention before the softmax, apart from
    a number that is the same for all keys.
    """

    words: tuple[str, ...]
    queries: NDArray[np.float32]
    weights: NDArray[np.float32]


class Reader(Protocol):
    @property
    def name(self) -> str:
        """Identity stored with all keys. Keys of different readers are never compared."""
        ...

    @property
    def key_values(self) -> int:
        """The number of values of a key."""
        ...

    def read(self, texts: Sequence[str], before: str = "") -> list[Keys]:
        """Return the keys of texts that follow each other; the last `CONTEXT_TOKENS` tokens of `before` come first."""
        ...

    def look(self, question: str) -> Look: ...

    def pieces(self, text: str) -> list[str]:
        """Return the texts of a text's tokens, one for each of its keys."""
        ...

    def close(self) -> None: ...
