"""The word index of all chunks: a file with most of them, and the changes since it was built in memory.

If the file is old, foreign, damaged or missing, it is not used: the store's own word index answers, and a thread builds
a new file. The store's total number of tokens must match the file plus the changes. If it does not, something happened
that change numbers do not show, and the file is abandoned.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from halo_weave.errors import HaloError
from halo_weave.memory.background_priority import give_way
from halo_weave.memory.files.lock import FileLock
from halo_weave.memory.words import bm25
from halo_weave.memory.words.index_file import (
    LARGEST_ID,
    Frequencies,
    IndexOrigin,
    Postings,
    WordIndexFile,
    Words,
    add_where_found,
    open_word_index,
    write_word_index,
)
from halo_weave.memory.words.recent import RecentWords
from halo_weave.memory.words.tokenizer import WordTokenizer
from halo_weave.records.chunks import PART, WordMatch
from halo_weave.system.background import BackgroundThread

INDEX_FROM_CHUNKS = 4_000

_log = logging.getLogger(__name__)
_FEWEST_OUTSIDE = 2000
_LARGEST_SHARE_OUTSIDE = 200
"""A new file is built when more than one in this many chunks is outside it."""
_MOST_OUTSIDE = 50_000
"""Beyond this many, changes are not held in memory and a new file is built."""
_PAUSE_AFTER_FAILURE_S = 60.0


class WordSource(Protocol):
    """A consistent view of a store."""

    def change_number(self) -> int: ...

    def totals(self) -> bm25.CorpusTotals: ...

    def origin(self) -> IndexOrigin: ...

    def is_still(self, origin: IndexOrigin) -> bool:
        """Whether the store appears to descend from this origin."""
        ...

    def changed_after(self, change_number: int, limit: int) -> list[tuple[int, str | None]]:
        """Return ids and texts; the text is None if the chunk is deleted or merged away."""
        ...

    def all_words(self) -> Iterator[Words]: ...


class WordIndex:
    """`open_source` opens a view of the store's current state. Thread-safe."""

    def __init__(
        self, path: Path, open_source: Callable[[], AbstractContextManager[WordSource]], *, from_chunks: int
    ) -> None:
        self._path = path
        self._open_source = open_source
        self._from_chunks = from_chunks
        self._lock = threading.RLock()
        self._build_lock = FileLock(path.with_name(path.name + "-lock"), 0)
        self._tokenizer = WordTokenizer()
        self._is_stopped = threading.Event()
        self._is_closing = False
        self._builder: BackgroundThread | None = None
        self._not_before = 0.0
        self._is_opened = False
        self._distrusted: IndexOrigin | None = None
        self._start_from(None)

    def best(
        self, source: WordSource, words: Sequence[bytes], limit: int, among: Sequence[int] | None
    ) -> list[WordMatch] | None:
        """Return the best chunks for these words, or None if the caller must query the store."""
        with self._lock:
            self._catch_up(source)
            return None if self._file is None or not words else self._best(self._file, words, limit, among)

    def counts(self, source: WordSource, words: Sequence[bytes]) -> list[int] | None:
        """Count the chunks that contain each word, or return None if the caller must query the store."""
        with self._lock:
            self._catch_up(source)
            if self._file is None:
                return None
            return [self._count(self._file.find(word), self._recent.find(word)) for word in words]

    def places(
        self, source: WordSource, words: Sequence[bytes], ids: NDArray[np.int64]
    ) -> list[tuple[Frequencies, int]] | None:
        """Return for each word its frequency in each of these chunks, and the number of parts of the memory that
        contain it.

        Returns None if the caller must query the store.
        """
        with self._lock:
            self._catch_up(source)
            if self._file is None:
                return None
            return [self._places(self._file, word, ids) for word in words]

    def wait_until_built(self) -> None:
        """Wait until no file is being built. Nothing else needs to wait for it."""
        with self._lock:
            builder = self._builder
        if builder is not None:
            builder.join()

    def remove(self) -> None:
        """Delete the file, so that none of its current content remains."""
        self._stop_building()
        with self._lock:
            self._path.unlink(missing_ok=True)
            self._start_from(None)

    def close(self) -> None:
        """Stop building a file. The store stays open."""
        self._is_closing = True
        self._stop_building()
        self._tokenizer.close()
        self._build_lock.close()

    def _start_from(self, file: WordIndexFile | None) -> None:
        self._file = file
        self._recent = RecentWords(self._tokenizer)
        self._outdated: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self._totals = bm25.CorpusTotals(0, 0)
        self._norms: NDArray[np.float32] | None = None
        self._seen_change: int | None = None

    def _catch_up(self, source: WordSource) -> None:
        change = source.change_number()
        if change == self._seen_change:
            return
        totals = source.totals()
        if not self._is_opened and totals.chunks >= self._from_chunks:
            self._is_opened = True
            self._start_from(open_word_index(self._path))
        if self._file is not None and not self._agrees(self._file, source, change, totals):
            self._distrusted = self._file.header.origin
            self._start_from(None)
        self._seen_change = change if self._seen_change is None else max(change, self._seen_change)
        self._build_if_worthwhile(totals)

    def _agrees(self, file: WordIndexFile, source: WordSource, change: int, totals: bm25.CorpusTotals) -> bool:
        """Bring the file and changes up to the source, unless they are ahead of it, and check that they match it."""
        seen = self._seen_change
        if (seen is None or change < seen) and not source.is_still(file.header.origin):
            return False
        if seen is not None and change < seen:
            return True
        if not _put_changes(self._recent, source, file.header.origin.change_number if seen is None else seen):
            return False
        self._outdated = _outdated_in(file, self._recent)
        self._totals = totals
        self._norms = None
        return _tokens_of(file, self._recent) == totals.tokens

    def _best(
        self, file: WordIndexFile, words: Sequence[bytes], limit: int, among: Sequence[int] | None
    ) -> list[WordMatch]:
        totals, recent = self._totals, self._recent
        known = [(file.find(word), recent.find(word)) for word in words]
        idfs = [totals.idf(self._count(*both)) for both in known]
        old = [bm25.Weighted(idf, postings) for idf, (postings, _) in zip(idfs, known, strict=True) if postings]
        new = [bm25.Weighted(idf, postings) for idf, (_, postings) in zip(idfs, known, strict=True)]
        places = np.unique(np.concatenate([postings.ids for _, postings in new if postings.ids is not None]))
        if among is None:
            if self._norms is None:
                self._norms = totals.norms_in_single_precision(file.lengths)
            ids = bm25.possible_best(old, self._norms, self._outdated, limit)
        else:
            wanted = np.unique(np.array(among, dtype=np.int64))
            ids = np.setdiff1d(wanted[(wanted >= 0) & (wanted < len(file.lengths))], self._outdated)
            places = places[np.isin(recent.ids[places], wanted)]
        scores = bm25.exact_scores(old, ids, totals.norms(file.lengths[ids]))
        recent_scores = bm25.exact_scores(new, places, totals.norms(recent.lengths[places]))
        ids, scores = np.concatenate((ids, recent.ids[places])), np.concatenate((scores, recent_scores))
        best = bm25.best_first(ids[scores > 0], scores[scores > 0], limit)
        return list(map(WordMatch, *(values.tolist() for values in best)))

    def _places(self, file: WordIndexFile, word: bytes, ids: NDArray[np.int64]) -> tuple[Frequencies, int]:
        frequencies, old, new = np.zeros(len(ids)), file.find(word), self._recent.find(word)
        recent_ids = self._recent.ids[new.ids]
        if old is not None:
            first, end = np.searchsorted(ids, (0, file.header.origin.id_end))
            frequencies[first:end] = old.frequencies_of(ids[first:end])
            if len(self._outdated):
                frequencies[np.isin(ids, self._outdated)] = 0
        add_where_found(frequencies, ids, recent_ids, new.frequencies)
        return frequencies, file.parts_with(word) + self._more_parts(file, old, recent_ids)

    def _more_parts(self, file: WordIndexFile, old: Postings | None, recent_ids: NDArray[np.int64]) -> int:
        """Return how many more parts of the memory contain the word now than when the file was built."""
        if old is None:
            return len(np.unique(recent_ids // PART))
        lost = self._outdated[old.frequencies_of(self._outdated) > 0]
        if not len(lost) and not len(recent_ids):
            return 0
        parts = np.unique(np.concatenate((lost, recent_ids)) // PART)
        chunks = np.add.outer(PART * parts, np.arange(PART))
        was_there = old.frequencies_of(np.minimum(chunks, file.header.origin.id_end - 1)) > 0
        was_there &= chunks < file.header.origin.id_end
        is_there = (was_there & ~np.isin(chunks, lost)).any(axis=1) | np.isin(parts, recent_ids // PART)
        return int(is_there.sum()) - int(was_there.any(axis=1).sum())

    def _count(self, old: Postings | None, new: Postings) -> int:
        outdated = 0 if old is None else int(np.count_nonzero(old.frequencies_of(self._outdated)))
        return new.chunks if old is None else old.chunks - outdated + new.chunks

    def _build_if_worthwhile(self, totals: bm25.CorpusTotals) -> None:
        is_building = self._builder is not None and self._builder.is_alive()
        if is_building or self._is_closing or time.monotonic() < self._not_before:
            return
        if self._file is None:
            is_worthwhile = totals.chunks >= self._from_chunks
        else:
            is_worthwhile = len(self._recent) > max(_FEWEST_OUTSIDE, totals.chunks // _LARGEST_SHARE_OUTSIDE)
        if is_worthwhile:
            self._is_stopped.clear()
            self._builder = BackgroundThread("word index", self._build)
            self._builder.start()

    def _stop_building(self) -> None:
        self._is_stopped.set()
        self.wait_until_built()

    def _build(self) -> None:
        give_way()
        before, self._not_before = self._not_before, time.monotonic() + _PAUSE_AFTER_FAILURE_S  # restored on success
        try:
            with self._build_lock.held_if_free() as is_free:
                if self._take_file() or (is_free and self._write() and self._take_file()):
                    self._not_before = before
        except (HaloError, OSError, MemoryError) as error:
            if not self._is_stopped.is_set():
                _log.warning("Cannot build the word index %s; word search remains slow: %s", self._path, error)

    def _write(self) -> bool:
        with self._open_source() as source:
            origin = source.origin()
            if origin.id_end > LARGEST_ID:
                return False
            return write_word_index(self._path, origin, self._until_stopped(source.all_words()))

    def _until_stopped(self, parts: Iterator[Words]) -> Iterator[Words | None]:
        for part in parts:
            yield None if self._is_stopped.is_set() else part

    def _take_file(self) -> bool:
        """Load the file if it is newer, because another process may have built one."""
        file = open_word_index(self._path)
        with self._lock:
            before = -1 if self._file is None else self._file.header.origin.change_number
            if file is None or file.header.origin.change_number <= before or file.header.origin == self._distrusted:
                return False
            with self._open_source() as source:
                if not source.is_still(file.header.origin):
                    return False
            self._start_from(file)
            return True


def _put_changes(recent: RecentWords, source: WordSource, change_number: int) -> bool:
    """Add the changes after a change number; False if there are too many to hold."""
    changes = source.changed_after(change_number, _MOST_OUTSIDE + 1 - len(recent))
    if len(recent) + len(changes) > _MOST_OUTSIDE:
        return False
    if changes:
        recent.put(changes)
    return True


def _outdated_in(file: WordIndexFile, recent: RecentWords) -> NDArray[np.int64]:
    """Return the ids of chunks whose entries in the file are outdated."""
    changed = recent.changed
    return changed[changed < file.header.origin.id_end]


def _tokens_of(file: WordIndexFile, recent: RecentWords) -> int:
    outdated = file.lengths[_outdated_in(file, recent)]
    return file.header.tokens - int(outdated.sum(dtype=np.int64)) + recent.tokens
