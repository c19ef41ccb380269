"""The memory as windows, commands and servers use it: the record, its vectors and the search over both.

Writing never waits for an embedder: a chunk is durable and found by its words at once, and by meaning once it has its
vector. A chunk that lacks one, for whatever reason, is found by `embed_missing`.
"""

import shutil
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from halo_weave.errors import EmbedderError, HaloError
from halo_weave.memory.embedders.choice import EmbedderChoice, Notice
from halo_weave.memory.embedders.embedder import EmbedderSettings
from halo_weave.memory.embedders.words_alone import WordsAlone
from halo_weave.memory.embedding.indexing import BATCH, EmbeddingProgress, embedded_with
from halo_weave.memory.embedding.queue import EmbeddingQueue
from halo_weave.memory.embedding.reembedding import Reembedded, reembed
from halo_weave.memory.embedding.reembedding import ReembeddingProgress as Reembedding
from halo_weave.memory.search.search import Hit
from halo_weave.memory.search.searchers import Searcher, Searchers
from halo_weave.memory.search.settings import SearchSettings
from halo_weave.memory.sqlite.store import SqliteStore
from halo_weave.memory.store.notes import NotesStore
from halo_weave.memory.store.protocol import Store
from halo_weave.memory.store.tree import TreeStore
from halo_weave.memory.store.windows import WindowStore
from halo_weave.memory.vectors.index import EXACT_UP_TO_CHUNKS, vector_file_name
from halo_weave.memory.vectors.unit import Vectors
from halo_weave.records.chunks import AuditEntry, Changed, Chunk, ChunkKey, PlacedToken, Reservation, Stats, Stored
from halo_weave.records.damage import Repaired
from halo_weave.records.roles import Role

T = TypeVar("T")
_BATCH = 1000
_MOST_TOLD = 100


def no_notice(_: str) -> None:
    pass


def open_memory(
    path: Path,
    embedder: EmbedderSettings | None = None,
    search: SearchSettings | None = None,
    *,
    exact_up_to_chunks: int = EXACT_UP_TO_CHUNKS,
    notice: Notice = no_notice,
) -> "Memory":
    """The memory in a file, made if it is not there. The embedder is opened when it is first needed."""
    choice = EmbedderChoice(embedder or EmbedderSettings(), _beside(path, "-embedders.json"), notice)
    return Memory(
        SqliteStore(path),
        choice,
        index_folder(path),
        search or SearchSettings(),
        exact_up_to_chunks=exact_up_to_chunks,
        notice=notice,
    )


def index_folder(path: Path) -> Path:
    """Where the vector index files of a memory are."""
    return _beside(path, "-index")


class Memory:
    """May be used from several threads. `notice` is told in a sentence what does not work as it should."""

    def __init__(
        self,
        store: Store,
        choice: EmbedderChoice,
        index_folder: Path,
        search: SearchSettings,
        *,
        exact_up_to_chunks: int = EXACT_UP_TO_CHUNKS,
        notice: Notice = no_notice,
    ) -> None:
        self.store = store
        """For those who copy, check or change all of it, as transfer does. Everybody else uses what is below."""
        self._index_folder = index_folder
        self._notice = notice
        self._told: set[str] = set()
        self._choice = choice
        self._searchers = Searchers(store, choice, index_folder, search, exact_up_to_chunks=exact_up_to_chunks)
        self._queue = EmbeddingQueue(self.embed, lambda error: self._tell(str(error)))

    @property
    def window_store(self) -> WindowStore:
        """Windows at rest, what they buried, and the journals of their replies."""
        return self.store

    @property
    def notes_store(self) -> NotesStore:
        return self.store

    @property
    def tree_store(self) -> TreeStore:
        return self.store

    def reserve(self, tokens: int) -> Reservation:
        """A user's turn, its assistant's turn and `tokens` positions that nobody had or will have."""
        return self.store.reserve(tokens)

    def write(self, chunks: Sequence[Chunk]) -> list[int]:
        """Write all or none, durably; found by their words at once. Gives their ids, to be embedded."""
        return self.store.write_chunks(chunks)

    def embed(self, ids: Sequence[int]) -> int:
        """Give chunks their vectors, and again to those that were embedded before these were there."""
        stored = self.store.chunks_by_ids(ids)
        return self._searchers.serving().indexer.embed_new(stored) if stored else 0

    def embed_later(self, ids: Iterable[int]) -> None:
        """The same in the background; what fails is told, and left without a vector."""
        self._queue.add(ids)

    def embed_missing_later(self) -> None:
        """Have everything embedded that an earlier process left without a vector."""
        for ids in self._missing():
            self._queue.add(ids)

    def settle(self) -> list[HaloError]:
        """Wait for what is embedded in the background; gives what went wrong since this was last asked."""
        return self._queue.settle()

    def wait_embedded(self, timeout_s: float) -> bool:
        """Wait no longer than this for what is embedded in the background; True if nothing is left."""
        return self._queue.wait(timeout_s)

    def count_missing(self) -> int:
        """Chunks without a vector of the embedder that serves."""
        return sum(map(len, self._missing()))

    def embed_missing(
        self, on_progress: EmbeddingProgress = lambda _: None, is_stopped: Callable[[], bool] = lambda: False
    ) -> int:
        """Embed all chunks that lack a vector; can be stopped, and goes on where it was."""
        return self._searchers.serving().indexer.embed_missing(on_progress, is_stopped)

    def reembed(
        self, on_progress: Reembedding = lambda _done, _total: None, is_stopped: Callable[[], bool] = lambda: False
    ) -> Reembedded:
        """Vectors of the settings' embedder for all chunks; it serves once it has all, and the others' go."""
        embedder = self._searchers.named_by_settings().embedder.in_background
        outcome = reembed(self.store, embedder, on_progress, is_stopped)
        for name in outcome.dropped:
            with suppress(OSError):
                (self._index_folder / vector_file_name(name)).unlink()
        return outcome

    def use_embedder(self, settings: EmbedderSettings) -> None:
        """The embedder of these settings is the one that `reembed` takes; another one goes on serving until then."""
        self._choice.use(settings)

    def search(
        self,
        text: str,
        *,
        limit: int = 50,
        roles: Collection[Role] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
        mmr_lambda: float | None = None,
    ) -> list[Hit]:
        """The best chunks for a text, best first; by words alone if the embedder cannot be used."""

        def search_with(searcher: Searcher) -> list[Hit]:
            return searcher.search.search(
                text, limit=limit, roles=roles, since=since, until=until, metadata=metadata, mmr_lambda=mmr_lambda
            )

        if self.store.serving_embedder() is None:
            return search_with(self._searchers.words_alone())
        try:
            return search_with(self._searchers.serving())
        except EmbedderError as error:
            self._tell(f"Search by words only: {error}")
            return search_with(self._searchers.words_alone())

    def embed_texts(self, texts: Sequence[str]) -> tuple[str, Vectors] | None:
        """The serving embedder's name and its vectors of one text or more; None if there is none to be used."""
        if self.store.serving_embedder() is None:
            return None
        try:
            embedder = self._searchers.serving().embedder
            parts = [texts[start : start + BATCH] for start in range(0, len(texts), BATCH)]
            return embedder.name, np.concatenate([embedder.embed(part) for part in parts])
        except EmbedderError as error:
            self._tell(f"Search by words only: {error}")
            return None

    def delete(self, keys: Sequence[ChunkKey], origin: str) -> Changed:
        """Out of words and vectors, but kept in the record; others are embedded again without the deleted text."""
        around = self._embedded_with(keys)
        try:
            # Before, so that a crash leaves no vector that knows the text; and after, because another thread or process
            # may have read the text in between.
            self.store.outdate_vectors(around)
            changed = self.store.delete(keys, origin)
            self.store.outdate_vectors(around)
        finally:
            if self.store.serving_embedder() is not None:
                self.embed_later(around)
        return changed

    def undelete(self, keys: Sequence[ChunkKey], origin: str) -> Changed:
        """Found by its words again at once, and by meaning once it is embedded."""
        changed = self.store.undelete(keys, origin)
        self.embed_later(self._ids(changed.changed))
        return changed

    def merge(self, left: ChunkKey, right: ChunkKey, origin: str) -> Stored:
        """One chunk under the key of `left`, to be embedded again."""
        merged = self.store.merge(left, right, origin)
        self.embed_later([merged.id])
        return merged

    def forget(self, keys: Sequence[ChunkKey], origin: str) -> tuple[ChunkKey, ...]:
        """Remove chunks for ever, from the record and from the bytes of its files; gives the keys that went."""
        self.delete(keys, origin)
        return self._without_index_files(lambda: self.store.forget(keys, origin))

    def forget_all_deleted(self, origin: str) -> tuple[ChunkKey, ...]:
        """The same with all chunks that are deleted."""
        return self._without_index_files(lambda: self.store.forget_all_deleted(origin))

    def repair(self, *, dry_run: bool = False) -> Repaired:
        """Set damaged rows aside; vectors that were damaged are missing afterwards."""
        if dry_run:
            return self.store.repair(dry_run=True)
        return self._without_index_files(self.store.repair)

    def clear(self, origin: str) -> None:
        """Remove all chunks and windows; turns and positions go on."""
        self._without_index_files(lambda: self.store.clear(origin))

    def chunk(self, key: ChunkKey) -> Stored | None:
        return self.store.chunk(key)

    def chunks_of_turn(self, turn: int) -> list[Stored]:
        return self.store.chunks_of_turn(turn)

    def chunks_by_keys(self, keys: Iterable[ChunkKey]) -> dict[ChunkKey, Stored]:
        return self.store.chunks_by_keys(keys)

    def chunks_by_ids(self, ids: Sequence[int]) -> list[Stored]:
        return self.store.chunks_by_ids(ids)

    def tokens_by_positions(self, positions: Iterable[int], *, include_deleted: bool = False) -> list[PlacedToken]:
        return self.store.tokens_by_positions(positions, include_deleted=include_deleted)

    def chunks_of_turns(self, turns: Iterable[int]) -> list[Stored]:
        return self.store.chunks_of_turns(turns)

    def next_index(self, turn: int, role: Role) -> int:
        return self.store.next_index(turn, role)

    def audit(self, after: int) -> list[AuditEntry]:
        """Entries of the audit log after this one, in order; not all at once."""
        return self.store.audit(after)

    def serving_embedder(self) -> str | None:
        """The embedder whose vectors the search uses."""
        return self.store.serving_embedder()

    def stats(self) -> Stats:
        return self.store.stats()

    def close(self) -> None:
        """What waits to be embedded is left without a vector."""
        self._queue.close()
        self._searchers.close()
        self.store.close()

    def _without_index_files(self, remove: Callable[[], T]) -> T:
        """What was removed must not be left in files made from it, not even if this process ends in between."""
        shutil.rmtree(self._index_folder, ignore_errors=True)
        try:
            return remove()
        finally:
            self._searchers.retire()
            shutil.rmtree(self._index_folder, ignore_errors=True)

    def _missing(self) -> Iterable[list[int]]:
        name = self.store.serving_embedder() or WordsAlone.name
        after = 0
        while ids := self.store.ids_without_vector(name, after, _BATCH):
            yield ids
            after = ids[-1]

    def _embedded_with(self, keys: Iterable[ChunkKey]) -> list[int]:
        """The other chunks that are embedded with the texts of these, as far as these are not deleted already."""
        stored = [self.store.chunk(key) for key in keys]
        present = {entry.chunk.key for entry in stored if entry is not None and not entry.chunk.deleted}
        return [entry.id for entry in embedded_with(self.store, present)]

    def _ids(self, keys: Iterable[ChunkKey]) -> list[int]:
        return [stored.id for key in keys if (stored := self.store.chunk(key)) is not None]

    def _tell(self, sentence: str) -> None:
        """Once: an embedder that is away would be told with every search."""
        if sentence not in self._told:
            if len(self._told) >= _MOST_TOLD:
                self._told.clear()
            self._told.add(sentence)
            self._notice(sentence)


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)
