"""Files that are still being made, under names of their own; those of a process that died are swept away later.

Whoever makes one holds a lock on it, which the operating system frees when its holder dies.
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
"""What SQLite may have had beside a file when its process died."""
_DELETED_WHEN_CLOSED = getattr(os, "O_TEMPORARY", 0) | getattr(os, "O_BINARY", 0)
"""For Windows, where a file that is open keeps its name."""
_FOLDER = "-folder"
_YOUNG_S = 60.0
"""A complete file is for a moment neither locked nor under its name; so young it is nobody's leavings."""


@contextmanager
def partial_file(folder: Path) -> Iterator[Path]:
    """An empty file for its maker alone, gone in the end."""
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
    """A folder for its maker alone, gone in the end. One that a process left when it died is found by its lock."""
    with partial_file(folder) as lock:
        path = lock.with_name(lock.name + _FOLDER)
        path.mkdir(mode=0o700)
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """A partial file beside `path` that takes its name once it is complete and on the disk."""
    handle, name = tempfile.mkstemp(prefix=_PREFIX, suffix=_SUFFIX, dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "rb+") as file:
            try_lock(handle)
            yield temporary
            os.fsync(file.fileno())
        # Closed first: once the file has its name, this process may open it as a memory, and closing any handle of a
        # file takes SQLite's locks on it away.
        temporary.rename(path)
        _sync_folder(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def nameless_file(folder: Path, write: Callable[[Path], object]) -> BinaryIO:
    """What `write` writes to the path that it is given, to be read; gone from the disk once it is closed."""
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
    """Remove what processes that died have left in `folder`."""
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
        return  # Windows knows no way to open a folder for this
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
