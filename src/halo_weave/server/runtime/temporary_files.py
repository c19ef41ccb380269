"""Temporary files for uploads and downloads, in a per-process folder beside the memory that only its owner can read.

The process holds a lock in its folder, which the operating system releases when the process dies. The next start then
removes the folder.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from halo_weave.memory.files.lock import FileLock
from halo_weave.memory.files.partial import try_lock
from halo_weave.system.private_files import make_private_folder

_LOCK_FILE = "lock"
_PATIENCE_S = 10.0


class TemporaryFiles:
    """All processes that use this memory share `parent`. `close` removes what is left in the folder of this process."""

    def __init__(self, parent: Path) -> None:
        self._parent = parent
        self._folder: Path | None = None
        self._lock: int | None = None
        if parent.exists():
            with suppress(OSError), _alone(parent):
                _sweep(parent)

    def new_file(self, suffix: str = "") -> Path:
        """An empty file, which the caller removes."""
        handle, name = tempfile.mkstemp(suffix=suffix, dir=self.folder())
        os.close(handle)
        return Path(name)

    def folder(self) -> Path:
        """The folder of this process, which is created on first use."""
        make_private_folder(self._parent)
        with _alone(self._parent):
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(dir=self._parent))
                self._lock = os.open(self._folder / _LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
                try_lock(self._lock)
            return self._folder

    def close(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
        self._folder = self._lock = None


@contextmanager
def _alone(parent: Path) -> Iterator[None]:
    """Prevents a sweep between the creation and the locking of a folder."""
    with closing(FileLock(parent / _LOCK_FILE, _PATIENCE_S)) as lock, lock.held():
        yield


def _sweep(parent: Path) -> None:
    for folder in parent.iterdir():
        with suppress(OSError):
            if folder.is_dir() and _is_left(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _is_left(folder: Path) -> bool:
    """Whether the process that created the folder has died; False where files cannot be locked."""
    handle = os.open(folder / _LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        return try_lock(handle)
    finally:
        os.close(handle)
