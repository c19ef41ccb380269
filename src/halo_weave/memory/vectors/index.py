"""Nearest vectors of the whole memory: exact while it is small, through an approximate file once it is large.

Vectors that are not in the file, because they are newer or because there is no file, are compared exactly. Entries that
changed or were removed since the file was built are ignored. Candidates from the file are compared again by their
vectors in the store. So results stay correct even if the file is old, foreign, damaged or missing, and a thread builds
a new one. Until then, a memory too large to hold is read completely for every search, which is slow but takes no
memory.
"""

import hashlib
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from halo_weave.errors import HaloError
from halo_weave.memory.background_priority import give_way
from halo_weave.memory.files.lock import FileLock
from halo_weave.memory.store.protocol import Store
from halo_weave.memory.vectors.approximate import ApproximateIndex, open_index, vector_checksum
from halo_weave.memory.vectors.building import write_index_file
from halo_weave.memory.vectors.exact import ExactIndex
from halo_weave.memory.vectors.nearest import Ids, Nearest, Similarities, best_first, best_of, similarities_to
from halo_weave.records.chunks import VectorChanges
from halo_weave.system.background import BackgroundThread
from halo_weave.system.private_files import make_private_folder

EXACT_UP_TO_CHUNKS = 50_000

_log = logging.getLogger(__name__)
_CANDIDATES_PER_WANTED = 1.2
_MORE_CANDIDATES = 20
_MOST_HELD_TIMES = 2
"""If more than this many times `exact_up_to_chunks` are outside the file, they are not held in memory."""
_RETRY_AFTER_S = 600.0
_LOOK_AGAIN_AFTER_S = 0.5
_LARGEST_SHARE_OF_GRAPH = 8
"""For a limit above one in this many chunks, comparing all is faster, and complete."""


class VectorIndex:
    """Index of one embedder's vectors in a store. Thread-safe.

    `folder` holds the file and is shared by all processes that use the store. Without a folder, all search is exact.
    """

    def __init__(
        self,
        store: Store,
        embedder: str,
        dimensions: int,
        folder: Path | None = None,
        *,
        exact_up_to_chunks: int = EXACT_UP_TO_CHUNKS,
    ) -> None:
        self._store = store
        self._embedder = embedder
        self._dimensions = dimensions
        self._path = None if folder is None else folder / vector_file_name(embedder)
        self._exact_up_to = exact_up_to_chunks
        self._lock = threading.RLock()
        self._is_closing = threading.Event()
        self._builder: BackgroundThread | None = None
        self._retry_at = 0.0
        self._start_from(self._opened_file())

    @property
    def embedder(self) -> str:
        return self._embedder

    @property
    def chunks_outside_file(self) -> int:
        """Number of chunks outside the file, which every search compares exactly."""
        with self._lock:
            self._catch_up()
            return self._outside

    def nearest(self, query: NDArray[np.float32], limit: int) -> Nearest:
        """Return the `limit` closest chunks; fewer only if there are no more."""
        with self._lock:
            self._catch_up()
            found = None if self._are_too_many else self._nearest_held(query, limit)
        return self._compare_all(query, limit) if found is None else found

    def similarities(self, query: NDArray[np.float32], ids: Ids) -> Similarities:
        """Return similarities of these chunks, NaN for those without a vector; `ids` must ascend."""
        with self._lock:
            self._catch_up()
            found = self._recent.similarities(query, ids)
            is_all = self._file is None and not self._are_too_many
        missing = np.flatnonzero(np.isnan(found))
        if not is_all and len(missing):
            stored, vectors = self._store.vectors_by_ids(self._embedder, ids[missing].tolist())
            found[np.searchsorted(ids, stored)] = similarities_to(query, vectors)
        return found

    def about_similarities(self, query: NDArray[np.float32], ids: Ids) -> Similarities:
        """Like `similarities`, but approximate and much faster in a large memory, because it reads from the file."""
        with self._lock:
            self._catch_up()
            if self._file is None or self._are_too_many:
                return self.similarities(query, ids)
            found = self._file.similarities(query, ids)
            if self._changed:
                found[[chunk_id in self._changed for chunk_id in ids.tolist()]] = np.nan
        missing = np.isnan(found)
        found[missing] = self.similarities(query, ids[missing])
        return found

    def wait_until_built(self) -> None:
        """Wait until no file is being built. Searches need not wait for it."""
        with self._lock:
            self._catch_up()
            builder = self._builder
        if builder is not None:
            builder.join()

    def close(self) -> None:
        """Stop building a file. The store stays open."""
        self._is_closing.set()
        if self._builder is not None:
            self._builder.join()

    def _start_from(self, file: ApproximateIndex | None) -> None:
        self._file = file
        self._recent = ExactIndex()
        self._changed: set[int] = set()
        self._read_up_to = 0 if file is None else file.header.change_number
        self._seen_change: int | None = None
        self._identity = self._store.identity()
        self._are_too_many = False
        self._is_file_trusted = file is None

    def _catch_up(self) -> None:
        latest = self._store.change_number()
        if latest == self._seen_change:
            return
        if latest < self._read_up_to or self._store.identity() != self._identity:
            self._start_from(None)  # another memory has replaced the store
        for changes in self._changes():
            if self._outside + len(changes.ids) > _MOST_HELD_TIMES * self._exact_up_to:
                self._are_too_many, self._recent, self._changed = True, ExactIndex(), set()
                break
            self._recent.put(changes.ids, changes.vectors)
            self._recent.discard(changes.removed)
            if self._file is not None:
                self._changed.update(changes.ids.tolist(), changes.removed.tolist())
            self._read_up_to = changes.change_number
        self._seen_change = latest
        if self._are_too_many:
            self._read_up_to = latest
        elif not self._is_file_trusted:
            self._trust_file_or_forget_it()
        self._build_if_worthwhile()

    @property
    def _outside(self) -> int:
        return max(len(self._recent), len(self._changed))

    def _changes(self) -> Iterator[VectorChanges]:
        while not self._are_too_many:
            changes = self._store.vectors_since(self._embedder, self._read_up_to)
            if not len(changes.ids) and not len(changes.removed):
                return
            yield changes

    def _trust_file_or_forget_it(self) -> None:
        assert self._file is not None
        samples = self._file.header.samples
        expected = {chunk_id: checksum for chunk_id, checksum in samples.items() if chunk_id not in self._changed}
        ids, vectors = self._store.vectors_by_ids(self._embedder, list(expected))
        found = {chunk_id: vector_checksum(vector) for chunk_id, vector in zip(ids.tolist(), vectors, strict=True)}
        if found == expected:
            self._is_file_trusted = True
        else:
            self._start_from(None)
            self._catch_up()

    def _nearest_held(self, query: NDArray[np.float32], limit: int) -> Nearest | None:
        """Search the vectors in memory and the file; None if these are not enough."""
        recent = self._recent.nearest(query, limit)
        if self._file is None:
            return recent
        if limit * _LARGEST_SHARE_OF_GRAPH > self._file.header.count:
            return None
        found = best_of(recent, self._nearest_in_file(self._file, query, limit), limit)
        return found if len(found.ids) == limit else None

    def _nearest_in_file(self, file: ApproximateIndex, query: NDArray[np.float32], limit: int) -> Nearest:
        wanted = int(_CANDIDATES_PER_WANTED * limit) + _MORE_CANDIDATES
        while True:
            suggested = dict.fromkeys(file.candidates(query, wanted).tolist())
            candidates = [chunk_id for chunk_id in suggested if chunk_id not in self._changed]
            ids, vectors = self._store.vectors_by_ids(self._embedder, candidates)
            if len(ids) >= limit or wanted * _LARGEST_SHARE_OF_GRAPH > file.header.count:
                return best_first(ids, similarities_to(query, vectors), limit)
            wanted *= 2

    def _compare_all(self, query: NDArray[np.float32], limit: int) -> Nearest:
        best = Nearest(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32))
        read_up_to = 0
        while True:
            changes = self._store.vectors_since(self._embedder, read_up_to)
            if changes.change_number == read_up_to:
                return best
            read_up_to = changes.change_number
            repeated = np.isin(best.ids, np.concatenate((changes.ids, changes.removed)))
            best = Nearest(best.ids[~repeated], best.similarities[~repeated])
            batch = Nearest(changes.ids, similarities_to(query, changes.vectors))
            best = best_of(best, batch, limit)

    def _build_if_worthwhile(self) -> None:
        is_building = self._builder is not None and self._builder.is_alive()
        if self._path is None or is_building or self._is_closing.is_set():
            return
        if not self._are_too_many and self._outside <= self._exact_up_to:
            return
        if time.monotonic() < self._retry_at:
            return
        self._retry_at = time.monotonic() + _RETRY_AFTER_S  # cleared on success
        path, read_up_to = self._path, self._read_up_to
        self._builder = BackgroundThread("vector index", lambda: self._build(path, read_up_to))
        self._builder.start()

    def _build(self, path: Path, end: int) -> None:
        give_way()
        try:
            make_private_folder(path.parent)
            with closing(FileLock(path.with_name(f"{path.name}-lock"), timeout_s=0)) as lock:
                while not self._build_or_take(path, end, lock):
                    if self._is_closing.wait(_LOOK_AGAIN_AFTER_S):
                        return
        except (HaloError, OSError, RuntimeError, ImportError, MemoryError) as error:
            if not self._is_closing.is_set():
                _log.warning("Cannot build the vector index %s; search remains exact: %s", path, error)

    def _build_or_take(self, path: Path, end: int, lock: FileLock) -> bool:
        """Build or load the file; False while another process is building it."""
        with lock.held_if_free() as is_free:
            if not is_free:
                return False
            if not self._take_file(newer_than=self._file):
                write_index_file(path, self._store, self._embedder, self._dimensions, end, self._file, self._is_closing)
                self._take_file(newer_than=self._file)
            return True

    def _take_file(self, newer_than: ApproximateIndex | None) -> bool:
        """Load the file if it is newer, because another process may have built one."""
        file = self._opened_file()
        behind = 0 if newer_than is None else newer_than.header.change_number
        if file is None or not behind < file.header.change_number <= self._store.change_number():
            return False
        with self._lock:
            self._start_from(file)
            self._retry_at = 0.0
            self._catch_up()
            return self._file is file

    def _opened_file(self) -> ApproximateIndex | None:
        return None if self._path is None else open_index(self._path, self._embedder, self._dimensions)


def vector_file_name(embedder: str) -> str:
    return f"vectors-{hashlib.sha256(embedder.encode()).hexdigest()[:12]}.index"
