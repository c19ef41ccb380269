"""A large file derived from another and kept in the cache folder, such as a converted model.

The file name contains a digest of the content. So a damaged file is detected and made again, and two processes that
make it at the same time rename identical bytes to the same name.
"""

import hashlib
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

_ABANDONED_AFTER_S = 3600


def find_derived(cache: Path, name: str) -> Path | None:
    """Return the intact file of this name, if there is one."""
    return next((path for path in sorted(cache.glob(f"{name}-*.gguf")) if _is_sound(path, name)), None)


def make_derived(cache: Path, name: str, make: Callable[[Path], None]) -> Path:
    """Let `make` write the file to a temporary path, and return its final path."""
    cache.mkdir(parents=True, exist_ok=True)
    _remove_abandoned(cache, name)
    handle, written = tempfile.mkstemp(prefix=f".{name}-", suffix=".part", dir=cache)
    os.close(handle)
    temporary = Path(written)
    try:
        make(temporary)
        path = cache / _digest_name(temporary, name)
        _move(temporary, path, name)
    finally:
        temporary.unlink(missing_ok=True)
    return path


def _move(temporary: Path, path: Path, name: str) -> None:
    try:
        temporary.replace(path)
    except PermissionError:
        # Windows refuses to replace a file in use. An intact file already there is just as good.
        if not _is_sound(path, name):
            raise


def _is_sound(path: Path, name: str) -> bool:
    try:
        return _digest_name(path, name) == path.name
    except OSError:
        return False


def _digest_name(path: Path, name: str) -> str:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return f"{name}-{digest[:16]}.gguf"


def _remove_abandoned(cache: Path, name: str) -> None:
    """Remove files left by a process that ended while it wrote, but not files still being written."""
    for path in cache.glob(f".{name}-*.part"):
        try:
            if time.time() - path.stat().st_mtime > _ABANDONED_AFTER_S:
                path.unlink()
        except OSError:
            continue
