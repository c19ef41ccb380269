"""The memory as windows, commands and servers use it: the record, its vectors and the search over both.

Writing never waits for an embedder. A chunk is durable and searchable by its words at once, and by meaning as soon as
it has a vector. `embed_missing` finds every chunk without a vector, whatever the reason.
"""

import shutil
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from halo_weave.engine.reader.choice import open_reader
from halo_weave.engine.reader.settings import ReaderSettings
from halo_weave.errors import EmbedderError, EngineError, EngineStopped, HaloError
from halo_weave.memory.attention.index import AttentionIndex, OpenReader
from halo_weave.memory.attention.reading import read_with
from halo_weave.memory.embedders.choice import EmbedderChoice, Notice
from halo_weave.memory.embedders.embedder import EmbedderSettings
from halo_weave.memory.embedders.words_alone import WordsAlone
from halo_weave.memory.embedding.indexing import BATCH, EmbeddingProgress, embedded_with
from halo_weave.memory.embedding.queue import EmbeddingQueue
from halo_weave.memory.embedding.reembedding import Reembedded, reembed
from halo_weave.memory.embedding.reembedding import ReembeddingProgress as Reembedding
from halo_weave.memory.search.search import Hit, Recollection, with_words
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
_ALL_MISSING = 0
"""Stands for all chunks without keys in the queue for reading; chunk ids begin at 1."""
_READ_AT_ONCE = 16


def no_notice(_: str) -> None:
    pass


def open_memory(
    path: Path,
    embedder: EmbedderSettings | None = None,
    search: SearchSettings | None = None,
    reader: ReaderSettings | None = None,
    *,
    exact_up_to_chunks: int = EXACT_UP_TO_CHUNKS,
    notice: Notice = no_notice,
) -> "Memory":
    """Open the memory in a file and create the file if it does not exist.

    The embedder and the reader are opened on first use. Without settings for it, there is no reader.
    """
    choice = EmbedderChoice(embedder or EmbedderSettings(), _beside(path, "-embedders.json"), notice)
    return Memory(
        SqliteStore(path),
        choice,
        index_folder(path),
        search or SearchSettings(),
        exact_up_to_chunks=exact_up_to_chunks,
        notice=notice,
        open_reader=None if reader is None or reader.kind == "off" else partial(open_reader, reader, notice),
    )


def index_folder(path: Path) -> Path:
    """Return the folder that holds a memory's vector index files."""
    return _beside(path, "-index")


class Memory:
    """Thread-safe. `notice` receives a sentence for the user when something does not work as it should."""

    def __init__(
        self,
        store: Store,
        choice: EmbedderChoice,
        index_folder: Path,
        search: SearchSettings,
        *,
        exact_up_to_chunks: int = EXACT_UP_TO_CHUNKS,
        notice: Notice = no_notice,
        open_reader: OpenReader | None = None,
    ) -> None:
        self.store = store
        """For those who copy, check or change all of it, as transfer does. Everybody else uses what is below."""
        self._index_folder = index_folder
        self._notice = notice
        self._told: set[str] = set()
        self._choice = choice
        self._attention = None if open_reader is None else AttentionIndex(store, open_reader, self._tell)
        self._searchers = Searchers(
            store, choice, index_folder, search, exact_up_to_chunks=exact_up_to_chunks, attention=self._attention
        )
        self._queue = EmbeddingQueue(self.embed, lambda error: self._tell(str(error)))
        self._reading = EmbeddingQueue(self._read_queued, self._tell_unread, name="reading")
        self._missing_after = 0

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
        """Reserve a user turn, its assistant turn and `tokens` positions, none of which is ever handed out again."""
        return self.store.reserve(tokens)

    def write(self, chunks: Sequence[Chunk]) -> list[int]:
        """Write all chunks or none, durably, and return their ids for embedding. Word search finds them at once."""
        return self.store.write_chunks(chunks)

    def embed(self, ids: Sequence[int]) -> int:
        """Embed these chunks, and embed again the chunks whose embedded text now includes one of these."""
        stored = self.store.chunks_by_ids(ids)
        if not stored:
            return 0
        searcher = self._searchers.serving()
        embedded = searcher.indexer.embed_new(stored)
        searcher.search.get_ready()
        return embedded

    def open_reader(self) -> None:
        """Load the reader now, so that the next search uses attention, unless it does not work."""
        if self._attention is not None:
            try:
                self._attention.open()
            except EngineError as error:
                self._tell_unread(error)

    def read(self, ids: Iterable[int]) -> int:
        """Let the reader read these chunks and keep their keys; returns how many got keys."""
        return 0 if self._attention is None else self._attention.read(ids)

    def read_missing(
        self, on_progress: EmbeddingProgress = lambda _: None, is_stopped: Callable[[], bool] = lambda: False
    ) -> int:
        """Read all chunks that the reader has not read. Can be stopped; the next call continues from there."""
        return 0 if self._attention is None else self._attention.read_missing(on_progress, is_stopped)

    def embed_later(self, ids: Iterable[int]) -> None:
        """Embed and read chunks in the background. Failures are reported and retried later."""
        ids = list(ids)
        self._queue.add(ids)
        self._read_later(ids)

    def embed_missing_later(self) -> None:
        """Queue every chunk that an earlier process left without a vector or without keys."""
        for ids in self._missing():
            self._queue.add(ids)
        if self._attention is not None:
            self._reading.add([_ALL_MISSING])

    def settle(self) -> list[HaloError]:
        """Wait for background embedding and reading, and return the errors since the last call."""
        return self._queue.settle() + self._reading.settle()

    def wait_embedded(self, timeout_s: float) -> bool:
        """Wait at most this long for background embedding; True if at most later retries are left."""
        return self._queue.wait(timeout_s)

    def count_missing(self) -> int:
        """Count the chunks without a vector by the serving embedder."""
        return sum(map(len, self._missing()))

    def embed_missing(
        self, on_progress: EmbeddingProgress = lambda _: None, is_stopped: Callable[[], bool] = lambda: False
    ) -> int:
        """Embed all chunks without a vector. Can be stopped; the next call continues from there."""
        return self._searchers.serving().indexer.embed_missing(on_progress, is_stopped)

    def reembed(
        self, on_progress: Reembedding = lambda _done, _total: None, is_stopped: Callable[[], bool] = lambda: False
    ) -> Reembedded:
        """Embed all chunks with the embedder in the settings.

        Once every chunk has its vector, that embedder serves and the vectors of all others are dropped.
        """
        embedder = self._searchers.named_by_settings().embedder.in_background
        outcome = reembed(self.store, embedder, on_progress, is_stopped)
        for name in outcome.dropped:
            with suppress(OSError):
                (self._index_folder / vector_file_name(name)).unlink()
        return outcome

    def use_embedder(self, settings: EmbedderSettings) -> None:
        """Set the embedder that `reembed` will use. The current one serves until then."""
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
        """Return the best chunks for a text, best first. Uses words only if the embedder is unavailable."""

        return self._by_serving(
            lambda searcher: searcher.search.search(
                text,
                limit=limit,
                roles=roles,
                since=since,
                until=until,
                metadata=metadata,
                mmr_lambda=mmr_lambda,
            )
        )

    def recollect(self, message: str, *, limit: int) -> Recollection:
        """Search with a message that may need nothing. Uses words only if the embedder is unavailable."""
        return self._by_serving(lambda searcher: searcher.search.recollect(message, limit=limit))

    def _by_serving(self, search: Callable[[Searcher], T]) -> T:
        if self.store.serving_embedder() is None:
            return search(self._searchers.words_alone())
        try:
            return search(self._searchers.serving())
        except EmbedderError as error:
            self._tell(f"Search by words only: {error}")
            return search(self._searchers.words_alone())

    def with_words(self, hits: Iterable[Hit], text: str) -> list[Hit]:
        """Return the hits of a text with the words of them that the reader looks at, as far as they are known."""
        return list(hits) if self._attention is None else with_words(hits, text, self._attention)

    @property
    def has_reader(self) -> bool:
        """Whether a reader reads along, according to the settings; it may not be open yet."""
        return self._attention is not None

    def shares_of_attention(self, text: str, keys: Iterable[ChunkKey]) -> dict[ChunkKey, NDArray[np.float32]]:
        """Return the share of the text's attention that each character of these chunks gets, as the reader reads it.

        All shares add up to 1. Chunks that the reader has not read are missing.
        """
        if self._attention is None:
            return {}
        stored = {entry.id: entry.chunk for entry in self.store.chunks_by_keys(keys).values()}
        found = self._attention.shares(text, {chunk_id: chunk.text for chunk_id, chunk in stored.items()})
        return {stored[chunk_id].key: shares for chunk_id, shares in found.items()}

    def embed_texts(self, texts: Sequence[str]) -> tuple[str, Vectors] | None:
        """Embed at least one text; returns the serving embedder's name and the vectors, or None without an embedder."""
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
        """Hide chunks from word and vector search but keep them in the record.

        Chunks that were embedded or read with a deleted chunk are embedded and read again without it.
        """
        present = self._present(keys)
        embedded = [entry.id for entry in embedded_with(self.store, present.keys())]
        try:
            # Once before deleting, so that a crash leaves no vector that contains the text, and once after, because
            # another thread or process may have read the text in between.
            self.store.outdate_vectors(embedded)
            changed = self.store.delete(keys, origin)
            self.store.outdate_vectors(embedded)
        finally:
            if self.store.serving_embedder() is not None:
                self._queue.add(embedded)
            self._read_later([*embedded, *read_with(present.values())])
        return changed

    def undelete(self, keys: Sequence[ChunkKey], origin: str) -> Changed:
        """Make chunks searchable by words at once, and by meaning once they are embedded."""
        changed = self.store.undelete(keys, origin)
        ids = self._ids(changed.changed)
        self.embed_later(ids)
        self._read_later(read_with(ids))
        return changed

    def merge(self, left: ChunkKey, right: ChunkKey, origin: str) -> Stored:
        """Merge two chunks into one under the key of `left` and embed it again."""
        merged = self.store.merge(left, right, origin)
        self.embed_later([merged.id])
        self._read_later(read_with([merged.id]))
        return merged

    def forget(self, keys: Sequence[ChunkKey], origin: str) -> tuple[ChunkKey, ...]:
        """Remove chunks permanently, from the record and from the bytes of its files; returns the removed keys."""
        self.delete(keys, origin)
        return self._without_index_files(lambda: self.store.forget(keys, origin))

    def forget_all_deleted(self, origin: str) -> tuple[ChunkKey, ...]:
        """Like `forget`, for all deleted chunks."""
        return self._without_index_files(lambda: self.store.forget_all_deleted(origin))

    def repair(self, *, dry_run: bool = False) -> Repaired:
        """Set damaged rows aside. Damaged vectors are missing afterwards."""
        if dry_run:
            return self.store.repair(dry_run=True)
        return self._without_index_files(self.store.repair)

    def clear(self, origin: str) -> None:
        """Remove all chunks and windows. Turn and position numbers continue where they were."""
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
        """Close the memory. Chunks still queued for embedding stay without a vector."""
        if self._attention is not None:
            self._attention.stop()
        self._queue.close()
        self._reading.close()
        self._searchers.close()
        if self._attention is not None:
            self._attention.close()
        self.store.close()

    def _without_index_files(self, remove: Callable[[], T]) -> T:
        """Delete the index files before and after `remove`: removed data must not survive in them, even after a
        crash."""
        shutil.rmtree(self._index_folder, ignore_errors=True)
        try:
            return remove()
        finally:
            self._searchers.retire()
            shutil.rmtree(self._index_folder, ignore_errors=True)

    def _read_later(self, ids: Iterable[int]) -> None:
        if self._attention is not None:
            self._reading.add(ids)

    def _read_queued(self, ids: list[int]) -> None:
        """Read queued chunks. Chunks left by earlier processes are taken a few at a time, so that new ones go first."""
        if self._attention is None:
            return
        new = [chunk_id for chunk_id in ids if chunk_id != _ALL_MISSING]
        self._attention.read(new)
        if len(new) < len(ids):
            missing = self._attention.ids_without_keys(self._missing_after, _READ_AT_ONCE)
            self._attention.read(missing)
            if missing:
                self._missing_after = missing[-1]
                self._reading.add([_ALL_MISSING])

    def _missing(self) -> Iterable[list[int]]:
        name = self.store.serving_embedder() or WordsAlone.name
        after = 0
        while ids := self.store.ids_without_vector(name, after, _BATCH):
            yield ids
            after = ids[-1]

    def _present(self, keys: Iterable[ChunkKey]) -> dict[ChunkKey, int]:
        """Return the ids of those chunks that are there and not deleted."""
        stored = [self.store.chunk(key) for key in keys]
        return {entry.chunk.key: entry.id for entry in stored if entry is not None and not entry.chunk.deleted}

    def _ids(self, keys: Iterable[ChunkKey]) -> list[int]:
        return [stored.id for key in keys if (stored := self.store.chunk(key)) is not None]

    def _tell_unread(self, error: HaloError) -> None:
        if not isinstance(error, EngineStopped):
            self._tell(f"Search without attention: {error}")

    def _tell(self, sentence: str) -> None:
        """Report each sentence once; otherwise every search would report an unavailable embedder."""
        if sentence not in self._told:
            if len(self._told) >= _MOST_TOLD:
                self._told.clear()
            self._told.add(sentence)
            self._notice(sentence)


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)
