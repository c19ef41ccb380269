"""Vectors of another embedder for the whole memory, while the old ones go on serving."""

from collections.abc import Callable

import msgspec

from halo_weave.errors import InputError
from halo_weave.memory.embedders.embedder import Embedder
from halo_weave.memory.embedding.indexing import Indexer
from halo_weave.memory.store.protocol import Store

ReembeddingProgress = Callable[[int, int], None]
"""Takes how many chunks have their vector, and how many are to have one."""


class Reembedded(msgspec.Struct, frozen=True):
    """`embedded` counts this run alone; `dropped` are the vectors of other embedders that went once all was done."""

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
    """Embed what lacks a vector of `embedder`; once nothing does, it serves and the others' vectors are dropped.

    What was embedded stays when this is stopped, so that it goes on there when it is run again.
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
        except InputError:  # others wrote meanwhile, or it was stopped
            if is_stopped():
                return Reembedded(embedder.name, embedded, _count_missing(store, embedder.name), {})
    others = [name for name, count in store.stats().vectors.items() if count and name != embedder.name]
    return Reembedded(embedder.name, embedded, 0, {name: store.drop_vectors(name) for name in others})


def _count_missing(store: Store, embedder: str) -> int:
    stats = store.stats()
    return stats.chunks - stats.deleted_chunks - stats.vectors.get(embedder, 0)
