"""Stages lines on disk until all of them are known to be valid, so they can be written in one transaction."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from halo_weave.errors import StoreUnavailable


class StagedLines:
    """Iterating reads the lines back one at a time; at most one is in RAM."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._count = 0

    def add(self, line: bytes) -> None:
        with _named_failures():
            self._file.write(line)
        self._count += 1

    def finish(self) -> None:
        """Flush to disk, so that a full disk fails here and not later."""
        with _named_failures():
            self._file.flush()

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[bytes]:
        self._file.seek(0)
        return iter(self._file)


@contextmanager
def _named_failures() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise StoreUnavailable(
            f"Cannot write temporary files for the import ({reason}); nothing was changed."
        ) from error
