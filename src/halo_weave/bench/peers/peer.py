"""What a peer is: a package that builds an index over the same chunks and vectors, and answers the same questions."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from halo_weave.memory.search.settings import SearchSettings

_READ_AT_ONCE = 5000


class Batch(NamedTuple):
    """Chunks in order of position; `vectors` has a row for each."""

    ids: list[int]
    texts: list[str]
    vectors: NDArray[np.float32]


class Corpus(msgspec.Struct, frozen=True):
    """The memory that all peers are filled from. All of its chunks have vectors by `embedder`."""

    database: str
    embedder: str
    dimensions: int
    settings: SearchSettings = SearchSettings()

    def batches(self) -> Iterator[Batch]:
        from halo_weave.memory.sqlite.store import SqliteStore

        store = SqliteStore(Path(self.database))
        try:
            position = 0
            while stored := store.chunks_from(position, _READ_AT_ONCE):
                ids = [one.id for one in stored]
                found, vectors = store.vectors_by_ids(self.embedder, ids)
                row_of = dict(zip(found.tolist(), vectors.astype(np.float32), strict=True))
                yield Batch(ids, [one.chunk.text for one in stored], np.stack([row_of[one] for one in ids]))
                position = stored[-1].chunk.end_position
        finally:
            store.close()


class OpenPeer(Protocol):
    def search(self, text: str, vector: NDArray[np.float32], limit: int) -> list[int]:
        """Return the ids of at most `limit` chunks, best first."""
        ...

    def close(self) -> None: ...


class Peer(NamedTuple):
    """`build` fills an empty folder that `open` opens later, in another process.

    Both import their package themselves: it may be missing, and loading it counts as the memory that a peer needs.
    """

    name: str
    packages: tuple[str, ...]
    build: Callable[[Corpus, Path], None]
    open: Callable[[Corpus, Path], OpenPeer]
