"""Reads an untrusted file within limits: its content may be far larger than the file."""

import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

from halo_weave.transfer.refusal import refusal

LONGEST_LINE_BYTES = 64 * 1024 * 1024
LARGEST_DOCUMENT_BYTES = 256 * 1024 * 1024
"""For a file that must be held in RAM as a whole."""
LARGEST_RATIO = 250
"""Largest ratio of content to compressed size. Conversations reach about 10, a zip bomb 1,000."""
_RATIO_COUNTS_FROM_BYTES = 16 * 1024 * 1024
_GZIP_MAGIC = b"\x1f\x8b"
_BLOCK_BYTES = 1024 * 1024


class ImportSource:
    """The content of the file at `path`, decompressed if needed. Every kind of read failure raises an InputError."""

    def __init__(self, path: Path, raw: BinaryIO) -> None:
        self.path = path
        self._raw = raw
        self._is_compressed = raw.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC
        raw.seek(0)
        self._content = io.BufferedReader(gzip.GzipFile(fileobj=raw)) if self._is_compressed else raw
        self._content_bytes = 0

    def line(self, longest_bytes: int = LONGEST_LINE_BYTES) -> bytes:
        """Return the next line with its line end, or nothing at the end of the file. A longer line is cut off."""
        parts = []
        room = longest_bytes
        while room and (part := self._checked(self._content.readline, min(room, _BLOCK_BYTES))):
            parts.append(part)
            room -= len(part)
            if part.endswith(b"\n"):
                break
        return b"".join(parts)

    def rest(self, room_bytes: int) -> bytes:
        """Return the rest of the file, which may have at most `room_bytes`."""
        parts = []
        while part := self._checked(self._content.read, _BLOCK_BYTES):
            parts.append(part)
            room_bytes -= len(part)
            if room_bytes < 0:
                raise refusal(self.path, f"it has more than {LARGEST_DOCUMENT_BYTES // 2**20} MB in one piece")
        return b"".join(parts)

    def _checked(self, read: Callable[[int], bytes], size: int) -> bytes:
        with _named_failures(self.path):
            part = read(size)
        self._content_bytes += len(part)
        if self._is_compressed and self._content_bytes > _RATIO_COUNTS_FROM_BYTES + LARGEST_RATIO * self._raw.tell():
            raise refusal(self.path, f"it decompresses to more than {LARGEST_RATIO} times its size")
        return part


@contextmanager
def opened(path: Path) -> Iterator[ImportSource]:
    with ExitStack() as stack:
        with _named_failures(path):
            source = ImportSource(path, stack.enter_context(path.open("rb")))
        yield source


@contextmanager
def _named_failures(path: Path) -> Iterator[None]:
    try:
        yield
    except EOFError:
        raise refusal(path, "it is incomplete") from None
    except (zlib.error, gzip.BadGzipFile):
        raise refusal(path, "its compressed data is damaged") from None
    except OSError as error:
        raise refusal(path, f"it cannot be read ({error.strerror or error})") from error
