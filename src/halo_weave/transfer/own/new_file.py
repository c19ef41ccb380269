"""Creates a file that appears complete or not at all, and replaces another one only on request."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from halo_weave.errors import InputError, StoreUnavailable


@contextmanager
def new_file(path: Path, *, overwrite: bool) -> Iterator[BinaryIO]:
    """Yield a temporary file beside `path` that gets its name once it is complete and synced to disk."""
    if path.exists() and not overwrite:
        raise _taken(path)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name.removeprefix('.')}-", suffix=".part", dir=path.parent)
        temporary = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            _give_name(temporary, path, overwrite)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise StoreUnavailable(f"Cannot write the export to {path}: {error.strerror or error}.") from error


def _give_name(temporary: Path, path: Path, overwrite: bool) -> None:
    if not overwrite:
        try:
            # Unlike a rename, a link fails if a file of this name has been created in the meantime.
            path.hardlink_to(temporary)
            return
        except FileExistsError:
            raise _taken(path) from None
        except OSError:
            if path.exists():
                raise _taken(path) from None
    temporary.replace(path)


def _taken(path: Path) -> InputError:
    return InputError(f"The file {path} already exists; choose another name, or replace it with --overwrite.")
