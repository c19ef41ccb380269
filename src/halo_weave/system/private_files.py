"""Creates folders and files for conversations that no other user of the machine can read."""

import os
from pathlib import Path
from typing import BinaryIO


def make_private_folder(folder: Path) -> None:
    """Create a folder and its parents. An existing one keeps its mode, because it may be shared on purpose."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def new_private_file(path: Path) -> BinaryIO:
    """Open a new file for writing. Raises FileExistsError if it exists."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600), "wb")
