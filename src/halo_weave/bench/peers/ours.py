"""Our own search, in the variants to compare."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halo_weave.bench.peers.peer import Corpus, Peer

if TYPE_CHECKING:
    from halo_weave.memory.embedders.embedder import Embedder
    from halo_weave.memory.search.search import MemorySearch
    from halo_weave.memory.sqlite.store import SqliteStore
    from halo_weave.memory.vectors.index import VectorIndex


class OpenMemory(NamedTuple):
    """What a variant makes its search from."""

    store: "SqliteStore"
    embedder: "Embedder"
    vectors: "VectorIndex"
    corpus: Corpus


def _words_and_meaning(memory: OpenMemory) -> "MemorySearch":
    from halo_weave.memory.search.search import MemorySearch

    return MemorySearch(memory.store, memory.embedder, memory.vectors, memory.corpus.settings)


VARIANTS: dict[str, Callable[[OpenMemory], "MemorySearch"]] = {"halo-weave": _words_and_meaning}
"""Our search by name; each variant becomes a peer."""


class Ours:
    def __init__(self, variant: Callable[[OpenMemory], "MemorySearch"], corpus: Corpus) -> None:
        self._memory = _opened(corpus)
        self._search = variant(self._memory)

    def search(self, text: str, vector: NDArray[np.float32], limit: int) -> list[int]:
        return [hit.id for hit in self._search.search_embedded(text, vector, limit=limit)]

    def close(self) -> None:
        self._memory.vectors.close()
        self._memory.store.close()


class _KnownVectors:
    """Stands in for the embedder of the corpus: the vectors of all questions are given, so it never embeds."""

    max_tokens = 0

    def __init__(self, corpus: Corpus) -> None:
        self.name, self.dimensions = corpus.embedder, corpus.dimensions

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        raise NotImplementedError(f"{self.name} is not open, so {len(texts)} texts cannot be embedded")

    def count_tokens(self, text: str) -> int:
        raise NotImplementedError(f"{self.name} is not open, so {len(text)} characters cannot be counted")

    def close(self) -> None:
        pass


def _opened(corpus: Corpus) -> OpenMemory:
    from halo_weave.memory.memory import index_folder
    from halo_weave.memory.sqlite.store import SqliteStore
    from halo_weave.memory.vectors.index import VectorIndex

    database = Path(corpus.database)
    store = SqliteStore(database)
    index = VectorIndex(store, corpus.embedder, corpus.dimensions, index_folder(database))
    return OpenMemory(store, _KnownVectors(corpus), index, corpus)


def _build(corpus: Corpus, _: Path) -> None:
    """Wait for the index files beside the memory, which are not in the folder of a peer."""
    memory = _opened(corpus)
    memory.vectors.wait_until_built()
    memory.store.search_words(["the"], 1)  # the first search builds the word index
    memory.store.wait_until_indexed()
    memory.vectors.close()
    memory.store.close()


def _peer(name: str, variant: Callable[[OpenMemory], "MemorySearch"]) -> Peer:
    return Peer(name, (), _build, lambda corpus, _: Ours(variant, corpus))


OURS = tuple(_peer(name, variant) for name, variant in VARIANTS.items())
