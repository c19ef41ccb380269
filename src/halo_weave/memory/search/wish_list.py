"""A cache of the users' lasting wishes, which every search reads."""

import numpy as np

from halo_weave.memory.store.protocol import Store
from halo_weave.memory.vectors.nearest import Ids

_MOST = 256
"""Only this many newest wishes are used, because every question is compared with all of them."""


class WishList:
    """Thread-safe."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: tuple[int, Ids] = (-1, np.empty(0, dtype=np.int64))

    def ids(self) -> Ids:
        """Return the wishes' chunk ids in ascending order."""
        change, known = self._store.change_number(), self._known
        if known[0] != change:
            known = self._known = (change, np.array(sorted(self._store.wishes(_MOST)), dtype=np.int64))
        return known[1]
