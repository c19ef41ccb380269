"""Files on their way in or out, in a folder of this process beside the memory, readable by its owner alone.

The process holds a lock in its folder, which the operating system frees when it dies; the next start sweeps the folder.
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
    """`parent` is shared by all processes with this memory. What is left in the folder goes with `close`."""

    def __init__(self, parent: Path) -> None:
        self._parent = parent
        self._folder: Path | None = None
        self._lock: int | None = None
        if parent.exists():
            with suppress(OSError), _alone(parent):
                _sweep(parent)

    def new_file(self, suffix: str = "") -> Path:
        """An empty file, which is the caller's to remove."""
        handle, name = tempfile.mkstemp(suffix=suffix, dir=self._opened())
        os.close(handle)
        return Path(name)

    def close(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
        self._folder = self._lock = None

    def _opened(self) -> Path:
        make_private_folder(self._parent)
        with _alone(self._parent):
            if self._folder is None:
                self._folder = Path(tempfile.mkdtemp(dir=self._parent))
                self._lock = os.open(self._folder / _LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
                try_lock(self._lock)
            return self._folder


@contextmanager
def _alone(parent: Path) -> Iterator[None]:
    """No folder is swept between being made and being locked."""
    with closing(FileLock(parent / _LOCK_FILE, _PATIENCE_S)) as lock, lock.held():
        yield


def _sweep(parent: Path) -> None:
    for folder in parent.iterdir():
        with suppress(OSError):
            if folder.is_dir() and _is_left(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _is_left(folder: Path) -> bool:
    """Whether the process died that made it; where files cannot be locked, nobody knows."""
    handle = os.open(folder / _LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        return try_lock(handle)
    finally:
        os.close(handle)
