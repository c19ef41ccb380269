"""A short digest that identifies a large file, such as a model."""

import hashlib
import os
from pathlib import Path

_SAMPLE_BYTES = 1 << 20


def file_fingerprint(path: Path) -> str:
    """Hash only the size and both ends of the file.

    The metadata and last weights identify a model, and reading a large file completely would take longer than loading
    it.
    """
    size = path.stat().st_size
    digest = hashlib.sha256(str(size).encode())
    with path.open("rb") as file:
        digest.update(file.read(_SAMPLE_BYTES))
        file.seek(-min(size, _SAMPLE_BYTES), os.SEEK_END)
        digest.update(file.read())
    return digest.hexdigest()[:12]
