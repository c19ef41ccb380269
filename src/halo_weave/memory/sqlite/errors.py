"""Turns SQLite errors into sentences that a user can act on."""

import sqlite3
from pathlib import Path

from halo_weave.errors import StoreConflict, StoreDamaged, StoreError, StoreUnavailable
from halo_weave.memory.sqlite.rows import DamagedRow

_PRIMARY_CODE = 0xFF
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT)


UNREADABLE = (sqlite3.Error, UnicodeDecodeError)
"""Errors that reading may raise. If SQLite quotes a damaged text, Python cannot even decode the error message."""


def store_error(path: Path, error: sqlite3.Error | UnicodeDecodeError) -> StoreError:
    if isinstance(error, UnicodeDecodeError):
        return StoreDamaged(f"The memory {path} is damaged (its schema cannot be read); restore a backup.")
    if isinstance(error, sqlite3.ProgrammingError):
        return StoreUnavailable(f"The memory {path} cannot be used: {error}")
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        return damaged_row(path, error)
    code &= _PRIMARY_CODE
    if code == sqlite3.SQLITE_NOTADB:
        return StoreDamaged(f"The file {path} is not a Halo Weave memory; move it away, or choose another file.")
    if code in _DAMAGED:
        # SQLite may quote the unreadable text, including line breaks.
        return StoreDamaged(f"The memory {path} is damaged ({' '.join(str(error).split())}); restore a backup.")
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreUnavailable(f"The memory {path} is locked by another program; try again later.")
    if code == sqlite3.SQLITE_FULL:
        return StoreUnavailable(f"The disk with the memory {path} is full; nothing was changed.")
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
        return read_only(path)
    if code == sqlite3.SQLITE_CANTOPEN:
        return StoreUnavailable(
            f"The memory {path} cannot be opened; check that its file and folder exist and are accessible."
        )
    if code == sqlite3.SQLITE_CONSTRAINT:
        return StoreConflict(f"The memory {path} rejected contradictory data ({error}); nothing was changed.")
    if code == sqlite3.SQLITE_IOERR:
        return StoreUnavailable(f"The disk with the memory {path} failed or is full ({error}); nothing was changed.")
    return StoreUnavailable(f"The memory {path} cannot be used: {error}.")


def damaged_row(path: Path, error: sqlite3.Error) -> StoreDamaged:
    """Return the error for damage that SQLite did not notice: a wrong checksum, or text that is not UTF-8."""
    problem = str(error) if isinstance(error, DamagedRow) else "a text in it is not UTF-8"
    return StoreDamaged(
        f"The memory {path} is damaged ({problem}); `halo-weave memory repair` sets the damaged rows aside."
    )


def read_only(path: Path) -> StoreUnavailable:
    return StoreUnavailable(f"The memory {path} is read-only; nothing was changed.")
