"""A file lock at which writers of several processes queue. The operating system releases it when its holder dies.

The lock only avoids contention; the resource beside it must protect itself. So waiting is limited, and where files
cannot be locked, every process proceeds.
"""

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_FIRST_PAUSE_S = 0.0001
_LONGEST_PAUSE_S = 0.002


class FileLock:
    def __init__(self, path: Path, timeout_s: float) -> None:
        self._path = path
        self._timeout_s = timeout_s
        self._file: int | None = None
        self._threads = threading.Lock()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock exclusively among threads, and also among processes unless the wait timed out."""
        with self._threads:
            if self._file is None:
                self._file = _opened(self._path)
            is_locked = _lock(self._file, self._timeout_s)
            try:
                yield
            finally:
                if is_locked:
                    _unlock(self._file)

    @contextmanager
    def held_if_free(self) -> Iterator[bool]:
        """Take the lock without waiting; False if another process holds it."""
        with self._threads:
            if self._file is None:
                self._file = _opened(self._path)
            is_free = not _is_held_elsewhere(self._file)
            try:
                yield is_free
            finally:
                if is_free:
                    _unlock(self._file)

    def close(self) -> None:
        with self._threads:
            if self._file is not None:
                os.close(self._file)
                self._file = None


def _opened(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)


if sys.platform == "win32":

    def _lock(file: int, timeout_s: float) -> bool:  # noqa: ARG001
        return False

    def _is_held_elsewhere(file: int) -> bool:  # noqa: ARG001
        return False

    def _unlock(file: int) -> None:
        pass

else:
    import fcntl

    def _lock(file: int, timeout_s: float) -> bool:
        deadline = time.monotonic() + timeout_s
        pause_s = _FIRST_PAUSE_S
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                if time.monotonic() > deadline:
                    return False
            except OSError:
                return False  # the file system does not support locks
            time.sleep(pause_s)
            pause_s = min(pause_s * 1.5, _LONGEST_PAUSE_S)

    def _is_held_elsewhere(file: int) -> bool:
        """Whether another process holds the lock. If not, it is locked now, where the file system supports locks."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False  # the file system does not support locks
        return False

    def _unlock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)
