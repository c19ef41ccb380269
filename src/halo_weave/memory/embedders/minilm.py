"""all-MiniLM-L6-v2 as a GGUF file: made once from the published weights and kept in the cache folder.

The file's name carries the digest of its content, so that a damaged file is recognised and made again, and two
processes that make it at once rename the same bytes to the same name.
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
"""What the model was trained on; the weights would take 512."""

_FORMAT_VERSION = 1
_FILE_PREFIX = f"{NAME.lower()}.v{_FORMAT_VERSION}-"
_TEMPORARY_PREFIX = f".{NAME.lower()}-"
_ABANDONED_AFTER_S = 3600


def converted_minilm(source: Path, cache: Path, on_progress: Callable[[str], None] | None = None) -> Path:
    """The GGUF file in the folder `cache`, made from the published files in `source` if no sound one is there."""
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
    # Needed once in the life of an installation, and slow to import.
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
        # Windows refuses to replace a file in use; a sound one in use is as good as ours.
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
    """What a process left that ended in the middle; never what another one is writing now."""
    for path in cache.glob(f"{_TEMPORARY_PREFIX}*.part"):
        try:
            if time.time() - path.stat().st_mtime > _ABANDONED_AFTER_S:
                path.unlink()
        except OSError:
            continue
