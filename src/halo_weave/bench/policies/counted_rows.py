"""Counts the tokens that an engine would decode, from the difference of consecutive contexts, without the model."""

from collections import OrderedDict
from collections.abc import Iterable

from halo_weave.engine.protocol import Placed

KEPT_TOKENS = 11_000
"""What the default of `engine.kept_rows_mb` holds of the bundled model: 256 MB at 23 KB a token."""


class CountedRows:
    """The tokens that a context holds, and those that left it, whose rows the engine keeps up to a limit.

    The engine also decodes its last token and very short runs again; these few are not counted.
    """

    def __init__(self, kept_tokens: int = KEPT_TOKENS) -> None:
        self._limit = kept_tokens
        self._held: dict[Placed, None] = {}
        self._kept: OrderedDict[Placed, None] = OrderedDict()

    def keeps(self, token: Placed) -> bool:
        return token in self._kept

    def decoded(self, wanted: Iterable[Placed]) -> int:
        """Make the context equal to these tokens; return how many of them had to be decoded."""
        tokens = dict.fromkeys(wanted)
        decoded = 0
        for token in tokens:
            if token in self._kept:
                del self._kept[token]
            elif token not in self._held:
                decoded += 1
        self._kept.update((token, None) for token in self._held if token not in tokens)
        while len(self._kept) > self._limit:
            self._kept.popitem(last=False)
        self._held = tokens
        return decoded
