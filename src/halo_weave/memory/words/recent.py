"""The words of chunks that a word index file lacks or has in an outdated version."""

from array import array
from collections import defaultdict
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from halo_weave.memory.words.index_file import Postings, Words
from halo_weave.memory.words.tokenizer import WordTokenizer

_NOWHERE = Postings(0, np.empty(0, dtype=np.uint32), np.empty(0, dtype=np.uint32))


class RecentWords:
    """Each version of a chunk gets its own row; only the last one counts."""

    def __init__(self, tokenizer: WordTokenizer) -> None:
        self._tokenizer = tokenizer
        self._places: defaultdict[bytes, array[int]] = defaultdict(lambda: array("I"))
        self._frequencies: defaultdict[bytes, array[int]] = defaultdict(lambda: array("I"))
        self._place_of: dict[int, int | None] = {}
        self.ids: NDArray[np.int64] = np.empty(0, dtype=np.int64)
        self.lengths: NDArray[np.uint32] = np.empty(0, dtype=np.uint32)
        """By row, 0 for rows that no longer count."""

    def __len__(self) -> int:
        """Number of chunks, including removed ones."""
        return len(self._place_of)

    @property
    def changed(self) -> NDArray[np.int64]:
        """Ids of all changed chunks, including removed ones."""
        return np.fromiter(self._place_of, dtype=np.int64, count=len(self._place_of))

    @property
    def tokens(self) -> int:
        return int(self.lengths.sum(dtype=np.int64))

    def put(self, rows: Iterable[tuple[int, str | None]]) -> None:
        """Add the current versions of chunks; a chunk without a text is removed."""
        latest = dict(rows)
        outdated = [place for chunk_id in latest if (place := self._place_of.get(chunk_id)) is not None]
        self.lengths[outdated] = 0
        alive = {chunk_id: text for chunk_id, text in latest.items() if text is not None}
        first = len(self.ids)
        places = dict(zip(alive, range(first, first + len(alive)), strict=True))
        self._place_of |= {chunk_id: places.get(chunk_id) for chunk_id in latest}
        self.ids = np.concatenate((self.ids, np.array(list(alive), dtype=np.int64)))
        self.lengths = np.concatenate((self.lengths, np.zeros(len(alive), dtype=np.uint32)))
        for words in self._tokenizer.take_apart(list(zip(places.values(), alive.values(), strict=True))):
            self._add(words)

    def find(self, word: bytes) -> Postings:
        """Return postings whose ids are rows, not chunk ids."""
        if word not in self._places:
            return _NOWHERE
        places = np.array(self._places[word], dtype=np.uint32)
        frequencies = np.array(self._frequencies[word], dtype=np.uint32)
        counts = self.lengths[places] > 0
        return Postings(int(counts.sum()), frequencies[counts], places[counts])

    def _add(self, words: Words) -> None:
        np.add.at(self.lengths, words.ids, words.frequencies)
        places, frequencies = words.ids.tolist(), words.frequencies.tolist()
        start = 0
        for word, count in zip(words.words, words.counts.tolist(), strict=True):
            self._places[word].extend(places[start : start + count])
            self._frequencies[word].extend(frequencies[start : start + count])
            start += count
