"""The embedder, index and search that belong together, opened on first use, one set per embedder."""

import threading
from pathlib import Path

from halo_weave.memory.attention.index import AttentionIndex
from halo_weave.memory.embedders.choice import EmbedderChoice
from halo_weave.memory.embedders.embedder import Embedder
from halo_weave.memory.embedders.words_alone import WordsAlone
from halo_weave.memory.embedding.indexing import Indexer
from halo_weave.memory.embedding.shared import SharedEmbedder
from halo_weave.memory.search.search import MemorySearch
from halo_weave.memory.search.settings import SearchSettings
from halo_weave.memory.store.protocol import Store
from halo_weave.memory.vectors.index import VectorIndex


class Searcher:
    """All parts that belong to one embedder."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        folder: Path,
        settings: SearchSettings,
        exact_up_to_chunks: int,
        attention: AttentionIndex | None,
    ) -> None:
        self.embedder = SharedEmbedder(embedder)
        self.indexer = Indexer(store, self.embedder.in_background)
        self.index = VectorIndex(
            store, embedder.name, embedder.dimensions, folder, exact_up_to_chunks=exact_up_to_chunks
        )
        self.search = MemorySearch(store, self.embedder, self.index, settings, attention=attention)

    def close(self) -> None:
        self.index.close()
        self.embedder.close()


class Searchers:
    """Thread-safe. Raises EmbedderError if the embedder cannot be opened."""

    def __init__(
        self,
        store: Store,
        choice: EmbedderChoice,
        index_folder: Path,
        settings: SearchSettings,
        *,
        exact_up_to_chunks: int,
        attention: AttentionIndex | None = None,
    ) -> None:
        self._attention = attention
        self._store = store
        self._choice = choice
        self._index_folder = index_folder
        self._settings = settings
        self._exact_up_to_chunks = exact_up_to_chunks
        self._lock = threading.RLock()
        self._opened: list[Searcher] = []
        self._retired: list[Searcher] = []

    def serving(self) -> Searcher:
        """Return the searcher of the serving embedder, which another process may have changed.

        If there are no vectors yet, the embedder in the settings starts serving.
        """
        with self._lock:
            name = self._store.serving_embedder()
            for searcher in self._opened:
                if searcher.embedder.name == name:
                    return searcher
            if name is not None and not self._store.stats().vectors.get(name):
                name = None
            embedder = self._choice.of_vectors(name)
            if name is None:
                self._store.serve_embedder(embedder.name, even_if_incomplete=True)
            return self._find_or_open(embedder)

    def named_by_settings(self) -> Searcher:
        with self._lock:
            return self._find_or_open(self._choice.named_by_settings())

    def words_alone(self) -> Searcher:
        with self._lock:
            return self._find_or_open(WordsAlone())

    def retire(self) -> None:
        """Reopen all searchers on next use. The old ones stay open until `close`: a thread may be using them."""
        with self._lock:
            self._retired += self._opened
            self._opened = []

    def close(self) -> None:
        self.retire()
        while self._retired:
            self._retired.pop().close()

    def _find_or_open(self, embedder: Embedder) -> Searcher:
        for searcher in self._opened:
            if searcher.embedder.name == embedder.name:
                embedder.close()
                return searcher
        self._opened.append(
            Searcher(
                self._store,
                embedder,
                self._index_folder,
                self._settings,
                self._exact_up_to_chunks,
                self._attention,
            )
        )
        return self._opened[-1]
