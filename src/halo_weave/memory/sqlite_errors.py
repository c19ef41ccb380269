"""What SQLite says, as one sentence that a person can act on."""

import sqlite3
from pathlib import Path

from halo_weave.errors import StoreConflict, StoreDamaged, StoreError, StoreUnavailable

_PRIMARY_CODE = 0xFF
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT)


def store_error(path: Path, error: sqlite3.Error) -> StoreError:
    # Without a code it was not SQLite that noticed: Python finds text that is not UTF-8, we find wrong checksums.
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & _PRIMARY_CODE
    if isinstance(error, sqlite3.ProgrammingError):
        return StoreUnavailable(f"The memory {path} cannot be used: {error}")
    if code == sqlite3.SQLITE_NOTADB:
        return StoreDamaged(f"The file {path} is not a memory of Halo Weave; move it away or name another one.")
    if code in _DAMAGED:
        return StoreDamaged(f"The memory {path} is damaged ({error}); restore a backup of it.")
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return StoreUnavailable(f"The memory {path} is locked by another program; try again when it is done.")
    if code == sqlite3.SQLITE_FULL:
        return StoreUnavailable(f"There is no room left on the disk for the memory {path}; nothing was changed.")
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM):
        return read_only(path)
    if code == sqlite3.SQLITE_CANTOPEN:
        return StoreUnavailable(f"The memory {path} cannot be opened; its file or folder may be missing or protected.")
    if code == sqlite3.SQLITE_CONSTRAINT:
        return StoreConflict(f"The memory {path} refused what contradicts its record ({error}); nothing was changed.")
    if code == sqlite3.SQLITE_IOERR:
        return StoreUnavailable(
            f"The disk with the memory {path} failed or has no room left ({error}); nothing was changed."
        )
    return StoreUnavailable(f"The memory {path} cannot be used: {error}.")


def read_only(path: Path) -> StoreUnavailable:
    return StoreUnavailable(f"The memory {path} is read-only; nothing was changed.")
