"""The memory's SQLite file: created atomically, migrated, and read and written in transactions."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path

from halo_weave.errors import InputError, StoreDamaged, StoreTooNew, StoreUnavailable
from halo_weave.memory.files.lock import FileLock
from halo_weave.memory.files.partial import new_file, partial_file, partial_folder, sweep
from halo_weave.memory.sqlite.errors import UNREADABLE, read_only, store_error
from halo_weave.memory.sqlite.migrating import migrate, newest_version, offer_functions
from halo_weave.memory.sqlite.schema import APPLICATION_ID
from halo_weave.system.private_files import make_private_folder

_OLDEST_SQLITE = (3, 37, 0)
_WRITER_CACHE_KIB = 32 * 1024
_READER_CACHE_KIB = 8 * 1024
"""Smaller than the writer's, because SQLite discards a reader's cache after every write by another connection."""
MOST_IDLE_READERS = 4
_LARGEST_IDLE_WAL_BYTES = 64 * 1024 * 1024


class Database:
    """Reads run in parallel with each other and with a write. Writes queue, first within the process, then at a file
    lock.

    Without the lock, SQLite writers would poll with growing pauses. With several processes, that wastes most of the
    time.
    """

    def __init__(self, path: Path, *, timeout_s: float) -> None:
        if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
            raise StoreUnavailable(f"SQLite {sqlite3.sqlite_version} is too old; version 3.37 or later is required.")
        self.path = path.absolute()
        self._timeout_s = timeout_s
        self._lock = FileLock(_beside(self.path, "-lock"), timeout_s)
        self._idle_readers: list[sqlite3.Connection] = []
        self._writers: dict[bool, sqlite3.Connection] = {}
        self._is_closed = False
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A consistent view of the memory, unaffected by concurrent writes."""
        try:
            connection = self._reader()
            try:
                connection.execute("BEGIN")
                yield connection
                connection.execute("ROLLBACK")
            except BaseException:
                connection.close()
                raise
        except UNREADABLE as error:
            raise store_error(self.path, error) from error
        self._put_back(connection)

    @contextmanager
    def writing(
        self, *, durable: bool = True, reading_from: tuple[Path, str] | None = None
    ) -> Iterator[sqlite3.Connection]:
        """A transaction that others see completely after it has returned, or not at all.

        Without `durable`, a power cut may undo it until a later durable write. `reading_from` is a database
        file and a schema name; the file is attached and can be read in the same statements.
        """
        try:
            with self._lock.held(), _attached(connection := self._writer(durable), reading_from):
                connection.execute("BEGIN IMMEDIATE")
                try:
                    yield connection
                    connection.execute("COMMIT")
                except BaseException:
                    with suppress(sqlite3.Error):
                        connection.execute("ROLLBACK")
                    raise
        except UNREADABLE as error:
            raise store_error(self.path, error) from error
        except PermissionError as error:
            raise read_only(self.path) from error
        except OSError as error:
            raise StoreUnavailable(f"The memory {self.path} cannot be written: {error.strerror}.") from error

    def backup(self, target: Path) -> None:
        if target.exists():
            raise InputError(f"The file {target} already exists; choose another name for the backup.")
        sweep(target.parent)
        try:
            with new_file(target) as temporary, self.reading() as source, closing(_connect(temporary, 0)) as copy:
                source.backup(copy)
                self._require_sound(copy)
                # A single file without a journal. Opening it as a memory switches back to WAL.
                copy.execute("PRAGMA journal_mode = DELETE")
        except UNREADABLE as error:
            raise store_error(target, error) from error
        except OSError as error:
            raise StoreUnavailable(f"The backup {target} cannot be written: {error.strerror}.") from error

    def rewrite(self, *, wait: bool) -> None:
        """Rewrite the file, so that it and its journal contain nothing that is no longer in the memory.

        Raises StoreUnavailable if others use the memory: at once without `wait`, otherwise after the timeout.
        """
        timeout_s = self._timeout_s if wait else 0.0
        try:
            with self._lock.held() if wait else nullcontext(), closing(_connect(self.path, timeout_s)) as connection:
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute("VACUUM")
                (is_busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except UNREADABLE as error:
            raise store_error(self.path, error) from error
        except OSError as error:
            raise StoreUnavailable(f"The memory {self.path} cannot be written: {error.strerror}.") from error
        if is_busy:
            raise StoreUnavailable(f"The memory {self.path} is in use by another program; try again later.")

    @contextmanager
    def copied(self) -> Iterator[sqlite3.Connection]:
        """A disposable copy of the memory. Others can use the memory itself meanwhile."""
        try:
            with partial_file(self.path.parent) as file, closing(_connect(file, 0)) as copy:
                copy.execute("PRAGMA synchronous = OFF")
                with self.reading() as source:
                    source.backup(copy)
                copy.execute("PRAGMA journal_mode = MEMORY")  # no journal file beside the copy, whatever happens
                yield copy
        except UNREADABLE as error:
            raise store_error(self.path, error) from error
        except OSError as error:
            raise StoreUnavailable(
                f"The memory {self.path} cannot be copied in its folder: {error.strerror}."
            ) from error

    @contextmanager
    def copied_file(self) -> Iterator[Path]:
        """Like `copied`, as a file that can be opened as a memory."""
        try:
            with partial_folder(self.path.parent) as folder:
                file = folder / self.path.name
                file.touch()
                with self.reading() as source, closing(_connect(file, 0)) as copy:
                    copy.execute("PRAGMA synchronous = OFF")
                    source.backup(copy)
                yield file
        except UNREADABLE as error:
            raise store_error(self.path, error) from error
        except OSError as error:
            raise StoreUnavailable(
                f"The memory {self.path} cannot be copied in its folder: {error.strerror}."
            ) from error

    def close(self) -> None:
        self._is_closed = True
        while self._idle_readers:
            self._idle_readers.pop().close()
        while self._writers:
            self._writers.popitem()[1].close()
        self._lock.close()

    def _prepare(self) -> None:
        sweep(self.path.parent)
        try:
            if not self.path.exists():
                self._create()
            if self.path.stat().st_size == 0:
                raise StoreDamaged(
                    f"The file {self.path} is empty and therefore not a memory; restore a backup, or move it away."
                )
            with self.reading() as connection:
                version = self._version(connection)
                journal_mode = connection.execute("PRAGMA journal_mode").fetchone()[0]
        except PermissionError as error:
            raise StoreUnavailable(
                f"The memory {self.path} cannot be read or created by this user; check its permissions."
            ) from error
        except OSError as error:
            raise StoreUnavailable(f"The memory {self.path} cannot be opened: {error.strerror}.") from error
        if version < newest_version():
            with self.writing() as connection:
                migrate(connection, self._version(connection))
        if journal_mode != "wal":
            self._switch_to_wal()

    def _create(self) -> None:
        make_private_folder(self.path.parent)
        with self._lock.held():
            if self.path.exists():
                return
            journal = _beside(self.path, "-wal")
            if journal.exists():
                raise StoreDamaged(
                    f"The memory {self.path} is missing, but its journal {journal.name} exists; restore the memory, or "
                    "move the journal away."
                )
            try:
                with new_file(self.path) as temporary, closing(_connect(temporary, 0)) as connection:
                    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                    connection.execute("BEGIN IMMEDIATE")
                    migrate(connection, 0)
                    connection.execute("COMMIT")
                    connection.execute("PRAGMA journal_mode = WAL")
            except UNREADABLE as error:
                raise store_error(self.path, error) from error

    def _version(self, connection: sqlite3.Connection) -> int:
        if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
            raise StoreDamaged(f"The file {self.path} is a database, but not a Halo Weave memory; choose another file.")
        version: int = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > newest_version():
            raise StoreTooNew(
                f"The memory {self.path} has version {version}, but this version of Halo Weave reads versions up to "
                f"{newest_version()}; update Halo Weave to open it."
            )
        return version

    def _require_sound(self, copy: sqlite3.Connection) -> None:
        (finding,) = copy.execute("PRAGMA quick_check(1)").fetchone()
        if finding != "ok":
            raise StoreDamaged(f"The memory {self.path} is damaged ({finding}); no backup was made.")

    def _switch_to_wal(self) -> None:
        try:
            with closing(_connect(self.path, self._timeout_s)) as connection:
                connection.execute("PRAGMA journal_mode = WAL")
        except UNREADABLE as error:
            raise store_error(self.path, error) from error

    def _reader(self) -> sqlite3.Connection:
        self._require_open()
        try:
            return self._idle_readers.pop()
        except IndexError:
            return _connect(self.path, self._timeout_s, _READER_CACHE_KIB)

    def _put_back(self, connection: sqlite3.Connection) -> None:
        if len(self._idle_readers) >= MOST_IDLE_READERS:
            connection.close()
            return
        self._idle_readers.append(connection)
        if self._is_closed:
            self.close()

    def _writer(self, durable: bool) -> sqlite3.Connection:
        self._require_open()
        if durable not in self._writers:
            connection = _connect(self.path, self._timeout_s)
            connection.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._writers[durable] = connection
        return self._writers[durable]

    def _require_open(self) -> None:
        if self._is_closed:
            raise StoreUnavailable(f"The memory {self.path} has been closed.")


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _connect(path: Path, timeout_s: float, cache_kib: int = _WRITER_CACHE_KIB) -> sqlite3.Connection:
    # mode=rw: a missing file is an error, not a new empty memory.
    connection = sqlite3.connect(
        f"{path.as_uri()}?mode=rw", uri=True, timeout=timeout_s, isolation_level=None, check_same_thread=False
    )
    try:
        offer_functions(connection)
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA cell_size_check = ON")
        connection.execute("PRAGMA trusted_schema = ON")  # some builds otherwise keep triggers from our functions
        connection.execute("PRAGMA fullfsync = ON")  # on macOS, synced data may otherwise still be in the drive's cache
        connection.execute(f"PRAGMA cache_size = -{cache_kib}")
        connection.execute(f"PRAGMA journal_size_limit = {_LARGEST_IDLE_WAL_BYTES}")
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def _attached(connection: sqlite3.Connection, other: tuple[Path, str] | None) -> Iterator[None]:
    if other is None:
        yield
        return
    file, name = other
    connection.execute(f"ATTACH ? AS {name}", (str(file),))
    try:
        yield
    finally:
        connection.execute(f"DETACH {name}")
