"""Temporary files for unfinished work. Those of a process that died are removed later.

The creator of a file holds a lock on it, which the operating system releases when the process dies.
"""

import os
import secrets
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

_PREFIX, _SUFFIX = ".halo-weave-", ".part"
_COMPANIONS = ("-journal", "-wal", "-shm")
"""Files that SQLite may have left beside a file when its process died."""
_DELETED_WHEN_CLOSED = getattr(os, "O_TEMPORARY", 0) | getattr(os, "O_BINARY", 0)
"""For Windows, where an open file cannot be unlinked."""
_FOLDER = "-folder"
_YOUNG_S = 60.0
"""For a moment, a complete file is neither locked nor renamed. A file younger than this is not considered abandoned."""


@contextmanager
def partial_file(folder: Path) -> Iterator[Path]:
    """Provide an empty private file that is deleted at the end."""
    handle, name = tempfile.mkstemp(prefix=_PREFIX, suffix=_SUFFIX, dir=folder)
    path = Path(name)
    try:
        with os.fdopen(handle, "rb"):
            try_lock(handle)
            yield path
    finally:
        path.unlink(missing_ok=True)


@contextmanager
def partial_folder(folder: Path) -> Iterator[Path]:
    """Provide a private folder that is deleted at the end. If the process dies, `sweep` finds it by its lock file."""
    with partial_file(folder) as lock:
        path = lock.with_name(lock.name + _FOLDER)
        path.mkdir(mode=0o700)
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Provide a temporary file that is renamed to `path` once it is complete and synced to disk."""
    handle, name = tempfile.mkstemp(prefix=_PREFIX, suffix=_SUFFIX, dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "rb+") as file:
            try_lock(handle)
            yield temporary
            os.fsync(file.fileno())
        # Close before renaming: once the file has its name, this process may open it as a memory, and closing any
        # handle of a file releases SQLite's locks on it.
        temporary.rename(path)
        _sync_folder(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def nameless_file(folder: Path, write: Callable[[Path], object]) -> BinaryIO:
    """Let `write` write to a temporary path and return that file for reading; it is deleted when closed."""
    path = folder / f"{_PREFIX}{secrets.token_hex(8)}{_SUFFIX}"
    try:
        write(path)
        file = os.fdopen(os.open(path, os.O_RDONLY | _DELETED_WHEN_CLOSED), "rb")
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    if not _DELETED_WHEN_CLOSED:
        path.unlink()
    return file


def sweep(folder: Path) -> None:
    """Remove the files in `folder` left by processes that died."""
    with suppress(OSError):
        for path in folder.glob(f"{_PREFIX}*{_SUFFIX}"):
            with suppress(OSError):
                _remove_if_left(path)


def _remove_if_left(path: Path) -> None:
    handle = os.open(path, os.O_RDWR)
    try:
        if time.time() - os.fstat(handle).st_mtime > _YOUNG_S and try_lock(handle):
            for companion in _COMPANIONS:
                path.with_name(path.name + companion).unlink(missing_ok=True)
            shutil.rmtree(path.with_name(path.name + _FOLDER), ignore_errors=True)
            path.unlink()
    finally:
        os.close(handle)


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":
        return  # Windows cannot open a folder for syncing
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


if sys.platform == "win32":

    def try_lock(handle: int) -> bool:  # noqa: ARG001
        return False

else:
    import fcntl

    def try_lock(handle: int) -> bool:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True
