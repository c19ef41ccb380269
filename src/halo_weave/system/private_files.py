"""Folders and files that hold what was said: nobody else on the machine can read them."""

import os
from pathlib import Path
from typing import BinaryIO


def make_private_folder(folder: Path) -> None:
    """With its parents. One that is there keeps its mode, because somebody may share it on purpose."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def new_private_file(path: Path) -> BinaryIO:
    """To be written; FileExistsError if there is one."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600), "wb")
