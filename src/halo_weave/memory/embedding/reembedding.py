"""Computes another embedder's vectors for the whole memory while the old vectors keep serving."""

from collections.abc import Callable

import msgspec

from halo_weave.errors import InputError
from halo_weave.memory.embedders.embedder import Embedder
from halo_weave.memory.embedding.indexing import Indexer
from halo_weave.memory.store.protocol import Store

ReembeddingProgress = Callable[[int, int], None]
"""Receives the number of chunks that have their vector and the total."""


class Reembedded(msgspec.Struct, frozen=True):
    """The result of a run.

    `embedded` counts this run only. `dropped` maps other embedders to the number of their vectors removed after
    completion.
    """

    embedder: str
    embedded: int
    missing: int
    dropped: dict[str, int]

    @property
    def is_complete(self) -> bool:
        return self.missing == 0


def reembed(
    store: Store, embedder: Embedder, on_progress: ReembeddingProgress, is_stopped: Callable[[], bool]
) -> Reembedded:
    """Embed all chunks that lack a vector by `embedder`; then let it serve and drop the others' vectors.

    A stopped run keeps its vectors, and the next run continues from there.
    """
    before = store.stats()
    total = before.chunks - before.deleted_chunks
    present = before.vectors.get(embedder.name, 0)
    indexer = Indexer(store, embedder)
    embedded = 0

    def tell(done: int) -> None:
        on_progress(min(present + embedded + done, total), total)

    tell(0)
    while True:
        embedded += indexer.embed_missing(tell, is_stopped)
        try:
            store.serve_embedder(embedder.name)
            break
        except InputError:  # others wrote in the meantime, or the run was stopped
            if is_stopped():
                return Reembedded(embedder.name, embedded, _count_missing(store, embedder.name), {})
    others = [name for name, count in store.stats().vectors.items() if count and name != embedder.name]
    return Reembedded(embedder.name, embedded, 0, {name: store.drop_vectors(name) for name in others})


def _count_missing(store: Store, embedder: str) -> int:
    stats = store.stats()
    return stats.chunks - stats.deleted_chunks - stats.vectors.get(embedder, 0)
