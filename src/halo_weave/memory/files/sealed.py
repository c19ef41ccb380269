"""Cache files that are only replaced as a whole, and opened only if they are exactly what was written.

After the content come a header, its length, a checksum of everything before, and a mark that identifies the kind of
file. Any number of processes may map a file into memory.
"""

import mmap
import os
import struct
import tempfile
import time
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

from halo_weave.system.private_files import make_private_folder

MARK_BYTES = 8
_TRAILER = struct.Struct(f"<II{MARK_BYTES}s")
_SECTION_BYTES = 1 << 23
_ABANDONED_AFTER_S = 3600


class SealedFile(NamedTuple):
    header: bytes
    content: mmap.mmap
    """The whole file, including the header and trailer at its end."""


def write_sealed(path: Path, mark: bytes, write: Callable[[BinaryIO], bytes | None]) -> bool:
    """Replace the file atomically. `write` writes the content and returns the header, or None to abort."""
    make_private_folder(path.parent)
    _remove_abandoned(path)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}-", suffix=".part", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        with temporary.open("w+b") as file:
            header = write(file)
            if header is None:
                return False
            file.write(header)
            file.flush()
            file.write(_TRAILER.pack(len(header), _checksum(file, file.tell(), len(header)), mark))
        temporary.replace(path)
        return True
    finally:
        temporary.unlink(missing_ok=True)


def open_sealed(path: Path, mark: bytes) -> SealedFile | None:
    """Open a file; None if it does not exist, is of another kind, or is not what was written."""
    try:
        with path.open("rb") as file:
            header = _sound_header(file, mark)
            if header is None:
                return None
            return SealedFile(header, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError):  # ValueError if the file became shorter in the meantime
        return None


def _sound_header(file: BinaryIO, mark: bytes) -> bytes | None:
    size = file.seek(0, os.SEEK_END)
    if size < _TRAILER.size:
        return None
    file.seek(size - _TRAILER.size)
    length, checksum, found_mark = _TRAILER.unpack(file.read(_TRAILER.size))
    start = size - _TRAILER.size - length
    if found_mark != mark or start < 0 or _checksum(file, size - _TRAILER.size, length) != checksum:
        return None
    file.seek(start)
    return file.read(length)


def _checksum(file: BinaryIO, size: int, header_length: int) -> int:
    """Checksum the first `size` bytes and the header's length. Sections run in parallel, for the sake of large
    files."""

    def of_section(start: int) -> bytes:
        # Mapped only temporarily, so that it does not stay in this process's memory.
        length = min(size - start, _SECTION_BYTES)
        with mmap.mmap(file.fileno(), length, access=mmap.ACCESS_READ, offset=start) as section:
            return zlib.crc32(section).to_bytes(4, "little")

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        checksums = threads.map(of_section, range(0, size, _SECTION_BYTES))
        return zlib.crc32(b"".join((*checksums, header_length.to_bytes(4, "little"))))


def _remove_abandoned(path: Path) -> None:
    """Remove files left by a process that ended while writing, but not files still being written."""
    for part in path.parent.glob(f".{path.name}-*.part"):
        with suppress(OSError):
            if time.time() - part.stat().st_mtime > _ABANDONED_AFTER_S:
                part.unlink()
