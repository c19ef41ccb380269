"""An index file that finds chunks near a vector without comparing all: a graph over vectors with 8 bits per value.

The file is a cache and is verified completely before use, because the library would follow a damaged graph anywhere.
"""

import mmap
import os
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec
import numpy as np
from numpy.typing import NDArray

from halo_weave.memory.files.sealed import open_sealed, write_sealed
from halo_weave.memory.vectors.nearest import Ids, Similarities
from halo_weave.records.chunks import VectorMatrix

if TYPE_CHECKING:
    from usearch.index import Index

FORMAT_VERSION = 2
_CONNECTIVITY = 16
_EXPANSION_ADD = 128
_EXPANSION_SEARCH = 256
_MARK = b"HaloNear"


class VectorFileHeader(msgspec.Struct, frozen=True):
    """The file contains all vectors that `embedder` had at `change_number`, and possibly some outdated ones.

    `samples` maps chunk ids to vector checksums, to recognise the store that the file was built from. `outdated` lists
    the chunks whose vectors changed or were removed after they were added; the file still has the old ones.
    """

    embedder: str
    dimensions: int
    count: int
    change_number: int
    samples: dict[int, int]
    outdated: frozenset[int] = frozenset()
    format_version: int = FORMAT_VERSION


class ApproximateIndex:
    def __init__(self, header: VectorFileHeader, index: "Index", mapping: mmap.mmap) -> None:
        self.header = header
        self._index = index
        self._mapping = mapping  # the index points into this mapping

    def candidates(self, query: NDArray[np.float32], limit: int) -> Ids:
        """Return approximately the nearest chunks, closest first; the caller must compare the true vectors.

        A chunk may occur twice, or may no longer have a vector.
        """
        matches: Any = self._index.search(_in_eight_bits(query[np.newaxis])[0], limit, threads=1)
        return np.asarray(matches.keys).astype(np.int64)

    def similarities(self, query: NDArray[np.float32], ids: Ids) -> Similarities:
        """Return approximate similarities of these chunks, NaN where the file lacks the current vector."""
        result = np.full(len(ids), np.nan, dtype=np.float32)
        places = np.flatnonzero(self._has_present(ids))
        if len(places):
            found: Any = self._index.get(ids[places].astype(np.uint64))
            rows = np.concatenate(found).reshape(len(places), -1).astype(np.float32)
            result[places] = np.vecdot(rows, query) / np.maximum(np.sqrt(np.vecdot(rows, rows)), 1)  # norms are >= 127
        return result

    def has(self, ids: Ids) -> NDArray[np.bool_]:
        """Whether the file has a vector of each chunk, current or outdated."""
        return np.asarray(self._index.contains(ids.astype(np.uint64)), dtype=np.bool_)

    def _has_present(self, ids: Ids) -> NDArray[np.bool_]:
        is_here = self.has(ids)
        if self.header.outdated:
            is_here &= [chunk_id not in self.header.outdated for chunk_id in ids.tolist()]
        return is_here

    def copied_into(self, index: "Index") -> None:
        index.load(memoryview(self._mapping))


class IndexBuilder:
    """Builds a file, optionally from an earlier one. Adding a chunk's vector again makes the previous one outdated."""

    def __init__(self, dimensions: int, threads: int, earlier: ApproximateIndex | None = None) -> None:
        self._index = _empty_index(dimensions)
        if earlier is not None:
            earlier.copied_into(self._index)
        self._threads = threads

    def __len__(self) -> int:
        return len(self._index)

    def add(self, ids: Ids, vectors: VectorMatrix) -> None:
        if len(ids):
            self._index.add(ids.astype(np.uint64), _in_eight_bits(vectors), threads=self._threads)

    def write(self, path: Path, header: VectorFileHeader) -> None:
        """Replace the file atomically."""

        def save(file: BinaryIO) -> bytes:
            self._index.save(file.name)
            file.seek(0, os.SEEK_END)
            return msgspec.json.encode(header)

        write_sealed(path, _MARK, save)


def open_index(path: Path, embedder: str, dimensions: int) -> ApproximateIndex | None:
    """Open the index file; None if there is no intact file of this embedder."""
    sealed = open_sealed(path, _MARK)
    header = None if sealed is None else _header(sealed.header)
    if sealed is None or header is None or (header.embedder, header.dimensions) != (embedder, dimensions):
        return None
    index = _empty_index(dimensions, with_lookups=True)
    try:
        index.view(memoryview(sealed.content))
    except RuntimeError:
        return None  # intact, but from another version of the library
    return ApproximateIndex(header, index, sealed.content) if len(index) == header.count else None


def vector_checksum(vector: NDArray[Any]) -> int:
    return zlib.crc32(vector.tobytes())


def _empty_index(dimensions: int, *, with_lookups: bool = False) -> "Index":
    """With lookups, vectors can be read by chunk id, but a chunk's vector cannot be added again."""
    # Slow to import, and small memories never need it.
    from usearch.index import Index

    return Index(
        ndim=dimensions,
        metric="cos",
        dtype="i8",
        connectivity=_CONNECTIVITY,
        expansion_add=_EXPANSION_ADD,
        expansion_search=_EXPANSION_SEARCH,
        enable_key_lookups=with_lookups,
    )


def _in_eight_bits(vectors: VectorMatrix) -> NDArray[np.int8]:
    """Scale each vector to the full range, which is safe because cosines do not depend on length."""
    largest = np.abs(vectors).max(axis=1, keepdims=True).astype(np.float32)
    scaled = vectors * (127 / np.maximum(largest, np.finfo(np.float32).tiny))
    rounded: NDArray[np.int8] = np.rint(scaled).astype(np.int8)
    return rounded


def _header(encoded: bytes) -> VectorFileHeader | None:
    try:
        header = msgspec.json.decode(encoded, type=VectorFileHeader)
    except msgspec.MsgspecError:
        return None  # written by another version of Halo Weave
    return header if header.format_version == FORMAT_VERSION else None
