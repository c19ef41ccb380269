"""The wishes of the users of a memory, at hand for every search."""

import numpy as np

from halo_weave.memory.store.protocol import Store
from halo_weave.memory.vectors.nearest import Ids

_MOST = 256
"""Of more wishes only the newest are looked at: they are compared with every question."""


class WishList:
    """May be used from several threads."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: tuple[int, Ids] = (-1, np.empty(0, dtype=np.int64))

    def ids(self) -> Ids:
        """Ascending."""
        change, known = self._store.change_number(), self._known
        if known[0] != change:
            known = self._known = (change, np.array(sorted(self._store.wishes(_MOST)), dtype=np.int64))
        return known[1]
