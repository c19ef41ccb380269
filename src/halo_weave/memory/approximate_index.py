"""A file that finds chunks near a vector without comparing all: a graph over vectors of eight bits per value.

The file is a cache. Behind the graph stand a header, its length, a checksum of everything before, and a mark; a file
that is not exactly what was written is not opened. It is mapped into memory and never changed, only replaced, so that
any number of processes may have it open.
"""

import mmap
import os
import struct
import tempfile
import time
import zlib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec
import numpy as np
from numpy.typing import NDArray

from halo_weave.memory.nearest import Ids
from halo_weave.memory.records import VectorMatrix

if TYPE_CHECKING:
    from usearch.index import Index

FORMAT_VERSION = 1
_CONNECTIVITY = 16
_EXPANSION_ADD = 128
_EXPANSION_SEARCH = 256
_MARK = b"HaloNear"
_TRAILER = struct.Struct("<II8s")
_READ_BYTES = 1 << 20
_ABANDONED_AFTER_S = 3600


class Header(msgspec.Struct, frozen=True):
    """The file holds all vectors that `embedder` had at `change_number`, and perhaps some that were outdated by then.

    `samples` are checksums of vectors by chunk id, to tell whether a store is the one that the file was made from.
    """

    embedder: str
    dimensions: int
    count: int
    change_number: int
    samples: dict[int, int]
    format_version: int = FORMAT_VERSION


class ApproximateIndex:
    def __init__(self, header: Header, index: "Index", mapping: mmap.mmap) -> None:
        self.header = header
        self._index = index
        self._mapping = mapping  # the index points into it

    def candidates(self, query: NDArray[np.float32], limit: int) -> Ids:
        """About the nearest, closest first; to be compared again by their true vectors.

        A chunk may come twice, or without having a vector any more.
        """
        matches: Any = self._index.search(_in_eight_bits(query[np.newaxis])[0], limit, threads=1)
        return np.asarray(matches.keys).astype(np.int64)

    def copied_into(self, index: "Index") -> None:
        index.load(memoryview(self._mapping))


class IndexBuilder:
    """Makes a file, from what another one has if it is given. A vector that is added again outdates the earlier one."""

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

    def write(self, path: Path, header: Header) -> None:
        """In place of what is there, whole or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(path)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}-", suffix=".part", dir=path.parent)
        os.close(handle)
        temporary = Path(name)
        try:
            self._index.save(name)
            _append_trailer(temporary, header)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


def open_index(path: Path, embedder: str, dimensions: int) -> ApproximateIndex | None:
    """None if there is no sound file of this embedder."""
    try:
        with path.open("rb") as file:
            header = _sound_header(file)
            if header is None or (header.embedder, header.dimensions) != (embedder, dimensions):
                return None
            mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError:
        return None
    index = _empty_index(dimensions)
    try:
        index.view(memoryview(mapping))
    except RuntimeError:
        return None  # sound, but of another version of the library
    return ApproximateIndex(header, index, mapping) if len(index) == header.count else None


def vector_checksum(vector: NDArray[Any]) -> int:
    return zlib.crc32(vector.tobytes())


def _empty_index(dimensions: int) -> "Index":
    # Small memories never need it, and it takes a while to import.
    from usearch.index import Index

    return Index(
        ndim=dimensions,
        metric="cos",
        dtype="i8",
        connectivity=_CONNECTIVITY,
        expansion_add=_EXPANSION_ADD,
        expansion_search=_EXPANSION_SEARCH,
        enable_key_lookups=False,
    )


def _in_eight_bits(vectors: VectorMatrix) -> NDArray[np.int8]:
    """Cosines do not depend on a vector's length, so each may use the whole range."""
    largest = np.abs(vectors).max(axis=1, keepdims=True).astype(np.float32)
    scaled = vectors * (127 / np.maximum(largest, np.finfo(np.float32).tiny))
    rounded: NDArray[np.int8] = np.rint(scaled).astype(np.int8)
    return rounded


def _remove_abandoned(path: Path) -> None:
    """What a process left that ended in the middle; never what another one is writing now."""
    for part in path.parent.glob(f".{path.name}-*.part"):
        with suppress(OSError):
            if time.time() - part.stat().st_mtime > _ABANDONED_AFTER_S:
                part.unlink()


def _append_trailer(path: Path, header: Header) -> None:
    encoded = msgspec.json.encode(header)
    with path.open("r+b") as file:
        checksum = _checksum(file, path.stat().st_size)
        file.write(encoded)
        checksum = zlib.crc32(len(encoded).to_bytes(4, "little"), zlib.crc32(encoded, checksum))
        file.write(_TRAILER.pack(len(encoded), checksum, _MARK))


def _sound_header(file: BinaryIO) -> Header | None:
    size = file.seek(0, os.SEEK_END)
    if size < _TRAILER.size:
        return None
    file.seek(size - _TRAILER.size)
    header_bytes, checksum, mark = _TRAILER.unpack(file.read(_TRAILER.size))
    start = size - _TRAILER.size - header_bytes
    if mark != _MARK or start < 0:
        return None
    file.seek(0)
    if _checksum(file, size - _TRAILER.size + 4) != checksum:
        return None
    file.seek(start)
    try:
        header = msgspec.json.decode(file.read(header_bytes), type=Header)
    except msgspec.MsgspecError:
        return None  # written by another version of the program
    return header if header.format_version == FORMAT_VERSION else None


def _checksum(file: BinaryIO, size: int) -> int:
    """Of the next `size` bytes; read, not mapped, so that they do not stay in this process's memory."""
    checksum = 0
    while size > 0 and (block := file.read(min(size, _READ_BYTES))):
        checksum = zlib.crc32(block, checksum)
        size -= len(block)
    return checksum
