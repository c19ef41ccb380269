"""all-MiniLM-L6-v2 as a GGUF file: converted once from the published weights and kept in the cache folder.

The file name contains a digest of the content. So a damaged file is detected and rebuilt, and two processes that
convert at the same time rename identical bytes to the same name.
"""

import hashlib
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from halo_weave.errors import EmbedderError

NAME = "all-MiniLM-L6-v2"
MAX_TOKENS = 256
"""The length used in training; the weights would accept 512."""

_FORMAT_VERSION = 1
_FILE_PREFIX = f"{NAME.lower()}.v{_FORMAT_VERSION}-"
_TEMPORARY_PREFIX = f".{NAME.lower()}-"
_ABANDONED_AFTER_S = 3600


def converted_minilm(source: Path, cache: Path, on_progress: Callable[[str], None] | None = None) -> Path:
    """Return the GGUF file in `cache`, converted from the published files in `source` if no intact one exists."""
    for path in sorted(cache.glob(f"{_FILE_PREFIX}*.gguf")):
        if _is_sound(path):
            return path
    if on_progress is not None:
        on_progress(f"Preparing the embedding model {NAME} (once, a few seconds) …")
    try:
        cache.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(cache)
        path = _make(source, cache)
    except (OSError, KeyError, ValueError) as error:
        raise EmbedderError(f"The embedding model {NAME} could not be prepared in {cache}: {error}.") from error
    if on_progress is not None:
        on_progress(f"Embedding model ready: {path}")
    return path


def _make(source: Path, cache: Path) -> Path:
    # Needed once per installation, and slow to import.
    from halo_weave.memory.embedders.minilm_conversion import convert

    handle, name = tempfile.mkstemp(prefix=_TEMPORARY_PREFIX, suffix=".part", dir=cache)
    os.close(handle)
    temporary = Path(name)
    try:
        convert(source, temporary, name=NAME)
        path = cache / _digest_name(temporary)
        _move(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    return path


def _move(temporary: Path, path: Path) -> None:
    try:
        temporary.replace(path)
    except PermissionError:
        # Windows refuses to replace a file in use. An intact file already there is just as good.
        if not _is_sound(path):
            raise


def _is_sound(path: Path) -> bool:
    try:
        return _digest_name(path) == path.name
    except OSError:
        return False


def _digest_name(path: Path) -> str:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return f"{_FILE_PREFIX}{digest[:16]}.gguf"


def _remove_abandoned(cache: Path) -> None:
    """Remove files left by a process that ended mid-conversion, but not files still being written."""
    for path in cache.glob(f"{_TEMPORARY_PREFIX}*.part"):
        try:
            if time.time() - path.stat().st_mtime > _ABANDONED_AFTER_S:
                path.unlink()
        except OSError:
            continue
