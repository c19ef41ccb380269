"""A file that lists for every word the chunks that contain it, and how often: a cache of the store's word index.

Words are the store's own, after stemming. Chunks are identified by id, which must fit into four bytes. Words that occur
in many chunks are stored as one number per chunk id, all others as pairs of id and frequency.
"""

from bisect import bisect_left
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from halo_weave.memory.files.sealed import SealedFile, open_sealed, write_sealed
from halo_weave.records.chunks import PART

FORMAT_VERSION = 3
LARGEST_ID = 2**32 - 1
_MARK = b"HaloWord"
_ALIGNMENT = 8
_MOST_WORDS_REMEMBERED = 4096
"""A search looks up each of its words several times, and the next search often repeats them."""
_ONE_NUMBER_PER_CHUNK_FROM = 5
"""Words in more than one of this many chunks take less space with one number per chunk."""

FileIds = NDArray[np.uint32]
Numbers = NDArray[np.uint8] | NDArray[np.uint16] | NDArray[np.uint32]
Frequencies = NDArray[np.float64]


class IndexOrigin(msgspec.Struct, frozen=True):
    """The state of the store from which a file is built. `id_end` is one more than the highest id at that time.

    `samples` maps chunk ids to row checksums. They show whether a store with this identity is still the same one: it
    may have been restored from a backup and changed since.
    """

    identity: str
    change_number: int
    id_end: int
    samples: dict[int, int]


class WordFileHeader(msgspec.Struct, frozen=True):
    """`tokens` is the total number of words in all chunks; `*_start` are offsets in the file."""

    origin: IndexOrigin
    tokens: int
    words: int
    lengths_start: int
    table_start: int
    ends_start: int
    letters_start: int
    format_version: int = FORMAT_VERSION


class Postings(NamedTuple):
    """How often a word occurs in which chunks. Without `ids` there is one frequency per chunk id, starting at 0."""

    chunks: int
    frequencies: Numbers
    ids: FileIds | None

    def frequencies_of(self, ids: NDArray[np.integer]) -> Frequencies:
        found: Frequencies
        if self.ids is None:
            found = self.frequencies[ids].astype(np.float64)
            return found
        if not len(self.ids) or not len(ids):
            return np.zeros(ids.shape)
        places = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        found = self.frequencies[places].astype(np.float64)
        found[self.ids[places] != ids] = 0
        return found


def add_where_found(
    frequencies: Frequencies, ids: NDArray[np.int64], found: NDArray[np.int64], numbers: NDArray[Any]
) -> None:
    """Add each number at the index of its id, if it is among `ids`, which must ascend."""
    if len(ids):
        places = np.minimum(np.searchsorted(ids, found), len(ids) - 1)
        is_wanted = ids[places] == found
        np.add.at(frequencies, places[is_wanted], numbers[is_wanted])


class Words(NamedTuple):
    """Some words in byte order, and how many chunks contain each.

    Then, word by word, the ascending ids of those chunks and the word's frequency in each.
    """

    words: list[bytes]
    counts: NDArray[np.int64]
    ids: FileIds
    frequencies: Numbers


_TABLE = np.dtype([("ids", "<u8"), ("frequencies", "<u8"), ("count", "<u4"), ("width", "<u4"), ("parts", "<u8")])


class WordIndexFile:
    def __init__(self, header: WordFileHeader, content: memoryview) -> None:
        self.header = header
        self._content = content
        self.lengths: NDArray[np.uint32] = self._array("<u4", header.lengths_start, header.origin.id_end)
        """Number of words per chunk id, 0 for chunks that are not in the file."""
        self._table = self._array(_TABLE, header.table_start, header.words)
        self._ends: NDArray[np.uint64] = self._array("<u8", header.ends_start, header.words + 1)
        self._found: dict[bytes, tuple[Postings, int] | None] = {}

    def __len__(self) -> int:
        return self.header.words

    def __getitem__(self, place: int) -> bytes:
        """Words are in byte order, so that `bisect_left` works on this object."""
        if not 0 <= place < self.header.words:
            raise IndexError(place)
        start, end = self._ends[place : place + 2].tolist()
        return bytes(self._content[self.header.letters_start + start : self.header.letters_start + end])

    def find(self, word: bytes) -> Postings | None:
        found = self._look_up(word)
        return None if found is None else found[0]

    def parts_with(self, word: bytes) -> int:
        """Count the parts of the memory that contain the word."""
        found = self._look_up(word)
        return 0 if found is None else found[1]

    def _look_up(self, word: bytes) -> tuple[Postings, int] | None:
        if word not in self._found:
            if len(self._found) >= _MOST_WORDS_REMEMBERED:
                self._found.clear()
            place = bisect_left(self, word)
            self._found[word] = self._row(place) if place < len(self) and self[place] == word else None
        return self._found[word]

    def _row(self, place: int) -> tuple[Postings, int]:
        ids, frequencies, count, width, parts = self._table[place].item()
        if _has_number_per_chunk(count, self.header.origin.id_end):
            return Postings(count, self._array(f"<u{width}", frequencies, self.header.origin.id_end), None), parts
        return Postings(count, self._array(f"<u{width}", frequencies, count), self._array("<u4", ids, count)), parts

    def _array(self, kind: Any, start: int, count: int) -> Any:
        return np.frombuffer(self._content, dtype=kind, count=count, offset=start)


def open_word_index(path: Path) -> WordIndexFile | None:
    """Open the file; None if there is no intact one."""
    sealed = open_sealed(path, _MARK)
    header = None if sealed is None else _header(sealed)
    return None if sealed is None or header is None else WordIndexFile(header, memoryview(sealed.content))


def write_word_index(path: Path, origin: IndexOrigin, parts: Iterable[Words | None]) -> bool:
    """Replace the file atomically. Parts must come in word order; a None aborts."""
    return write_sealed(path, _MARK, lambda file: _write(file, origin, parts))


def _header(sealed: SealedFile) -> WordFileHeader | None:
    try:
        header = msgspec.json.decode(sealed.header, type=WordFileHeader)
    except msgspec.MsgspecError:
        return None  # written by another version of Halo Weave
    return header if header.format_version == FORMAT_VERSION else None


def _has_number_per_chunk(counts: Any, id_end: int) -> Any:
    """Accepts one count or an array."""
    return counts * _ONE_NUMBER_PER_CHUNK_FROM > id_end


def _write(file: BinaryIO, origin: IndexOrigin, parts: Iterable[Words | None]) -> bytes | None:
    lengths = np.zeros(origin.id_end, dtype=np.uint32)
    words: list[bytes] = []
    tables = [np.empty(0, dtype=_TABLE)]
    for part in parts:
        if part is None:
            return None
        lengths += np.bincount(part.ids, part.frequencies, minlength=origin.id_end).astype(np.uint32)
        words += part.words
        tables.append(_write_part(file, part, origin.id_end))
    ends = np.cumsum([0, *map(len, words)], dtype=np.uint64)
    starts = [
        _write_aligned(file, content)
        for content in (lengths.astype("<u4"), np.concatenate(tables), ends.astype("<u8"), b"".join(words))
    ]
    return msgspec.json.encode(WordFileHeader(origin, int(lengths.sum(dtype=np.int64)), len(words), *starts))


def _write_part(file: BinaryIO, part: Words, id_end: int) -> np.ndarray[Any, Any]:
    """Write a part and return its table rows."""
    table = np.zeros(len(part.words), dtype=_TABLE)
    width = _width(part.frequencies)
    frequencies = part.frequencies.astype(f"<u{width}")
    table["count"] = part.counts
    table["width"] = width
    table["parts"] = _count_parts(part)
    is_common = _has_number_per_chunk(part.counts, id_end)
    ids_are_kept = np.repeat(~is_common, part.counts)
    kept = np.where(is_common, 0, part.counts)
    starts = np.cumsum(kept) - kept
    table["ids"] = _write_aligned(file, part.ids[ids_are_kept].astype("<u4")) + 4 * starts
    table["frequencies"] = _write_aligned(file, frequencies[ids_are_kept]) + width * starts
    ends = np.cumsum(part.counts)
    for place in np.flatnonzero(is_common).tolist():
        own = slice(ends[place] - part.counts[place], ends[place])
        numbers = np.zeros(id_end, dtype=frequencies.dtype)
        numbers[part.ids[own]] = frequencies[own]
        table[place]["frequencies"] = _write_aligned(file, numbers)
    return table


def _count_parts(part: Words) -> NDArray[np.int64]:
    """Count for each word the parts of the memory that contain it."""
    parts = part.ids // PART
    is_first = np.ones(len(parts), dtype=np.int64)
    is_first[1:] = parts[1:] != parts[:-1]
    starts = np.cumsum(part.counts) - part.counts
    is_first[starts] = 1
    return np.add.reduceat(is_first, starts) if len(starts) else is_first


def _write_aligned(file: BinaryIO, content: np.ndarray[Any, Any] | bytes) -> int:
    """Write the content at the next aligned offset and return that offset."""
    start = file.tell() + -file.tell() % _ALIGNMENT
    file.write(bytes(start - file.tell()))
    file.write(content if isinstance(content, bytes) else content.tobytes())
    return start


def _width(frequencies: Numbers) -> int:
    largest = int(frequencies.max(initial=0))
    return 1 if largest < 2**8 else 2 if largest < 2**16 else 4
