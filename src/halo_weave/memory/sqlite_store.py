"""The memory in one SQLite file. All SQL of the project is in the modules named sqlite_*."""

import itertools
import sqlite3
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halo_weave.errors import InputError, StoreConflict, StoreDamaged
from halo_weave.memory import sqlite_vectors, sqlite_verify
from halo_weave.memory.numbers import key_of_number, require_number, text_of_number
from halo_weave.memory.packing import pack, unpack
from halo_weave.memory.records import (
    Action,
    AuditEntry,
    Changed,
    Chunk,
    ChunkKey,
    PlacedToken,
    Record,
    Reservation,
    Stats,
    Stored,
    VectorChanges,
    VectorMatrix,
    WordMatch,
    utc_now,
)
from halo_weave.memory.sqlite_database import Database
from halo_weave.memory.sqlite_rows import (
    COLUMNS,
    Row,
    checksum,
    chunk_of_row,
    microseconds,
    row_of_chunk,
    sound_row,
    stored_number,
    time_of_microseconds,
)

_EMBEDDER = (
    "(SELECT name FROM vectors JOIN embedders ON embedders.id = vectors.embedder"
    " WHERE vectors.chunk = chunks.id AND vector IS NOT NULL ORDER BY vectors.change DESC LIMIT 1)"
)
_SELECT_STORED = f"SELECT id, {_EMBEDDER}, {COLUMNS} FROM chunks"
_SELECT_ROW = f"SELECT id, {COLUMNS} FROM chunks"
_INSERT = f"INSERT INTO chunks ({', '.join(Row._fields)}, checksum) VALUES ({', '.join('?' * (len(Row._fields) + 1))})"
_CHANGING = (
    "token_count",
    "text",
    "token_ids",
    "piece_lengths",
    "deleted",
    "deleted_at",
    "undeleted_at",
    "merged_into",
    "change",
)
_UPDATE = f"UPDATE chunks SET {', '.join(f'{name} = ?' for name in _CHANGING)}, checksum = ? WHERE id = ?"


class _Counters(NamedTuple):
    next_turn: int
    next_position: int
    change: int


class SqliteStore:
    """`timeout_s` is how long a write waits for those of others; `clock` gives the times of deletions and merges."""

    def __init__(self, path: Path, *, timeout_s: float = 30.0, clock: Callable[[], datetime] = utc_now) -> None:
        self._database = Database(path, timeout_s=timeout_s)
        self._clock = clock

    @property
    def path(self) -> Path:
        return self._database.path

    def reserve(self, tokens: int) -> Reservation:
        require_number(tokens)
        if tokens == 0:
            raise InputError("No tokens cannot be reserved; it takes at least 1.")
        # Not waiting for the disk is safe: the write-ahead log is synced as a whole, so whatever is durably written
        # under these numbers later makes the reservation durable too. If a power cut takes it back, nothing that was
        # written under it has survived either, and the numbers may be given out again.
        with self._database.writing(durable=False) as connection:
            counters = _counters(connection)
            turn, start = counters.next_turn, counters.next_position
            reservation = Reservation(turn, turn + 1, start, start + tokens)
            _set_next(connection, turn + 2, start + tokens)
        return reservation

    def advance(self, *, next_turn: int, next_position: int) -> None:
        for number in (next_turn, next_position):
            require_number(number)
        with self._database.writing() as connection:
            counters = _counters(connection)
            _set_next(connection, max(next_turn, counters.next_turn), max(next_position, counters.next_position))

    def write_chunks(self, chunks: Sequence[Chunk]) -> list[int]:
        if not chunks:
            return []
        with self._database.writing() as connection:
            counters = _counters(connection)
            change = counters.change + 1
            ids = []
            for chunk in chunks:
                row = row_of_chunk(chunk, change)
                _require_given_out(row, counters)
                _require_new(connection, row)
                ids.append(_insert(connection, row))
            _set_change(connection, change)
        return ids

    def chunk(self, key: ChunkKey) -> Stored | None:
        found = self._stored(
            "WHERE turn = ? AND number = ? AND role = ? AND merged_into IS NULL",
            (key_of_number(key.turn), key.index, key.role),
        )
        return found[0] if found else None

    def chunks_of_turn(self, turn: int) -> list[Stored]:
        return self._stored("WHERE turn = ? AND merged_into IS NULL ORDER BY first_position", (key_of_number(turn),))

    def chunks_by_ids(self, ids: Sequence[int]) -> list[Stored]:
        query = f"{_SELECT_STORED} WHERE id = ? AND merged_into IS NULL"
        with self._database.reading() as connection:
            rows = (connection.execute(query, (chunk_id,)).fetchone() for chunk_id in ids)
            return [_stored_of(row) for row in rows if row is not None]

    def chunks_from(self, position: int, limit: int) -> list[Stored]:
        return self._stored(
            "WHERE merged_into IS NULL AND first_position >= ? ORDER BY first_position LIMIT ?",
            (key_of_number(position), limit),
        )

    def merged_from(self, position: int, limit: int) -> list[Record]:
        query = (
            f"SELECT chunks.id, target.number, {COLUMNS} FROM chunks JOIN chunks AS target"
            " ON target.id = chunks.merged_into WHERE chunks.merged_into IS NOT NULL AND chunks.first_position >= ?"
            " ORDER BY chunks.first_position LIMIT ?"
        )
        with self._database.reading() as connection:
            return [
                Record(chunk_of_row(sound_row(chunk_id, tuple(row)), None), merged_into)
                for chunk_id, merged_into, *row in connection.execute(query, (key_of_number(position), limit))
            ]

    def restore(
        self, records: Iterable[Record], audit: Iterable[AuditEntry], *, next_turn: int, next_position: int
    ) -> None:
        for number in (next_turn, next_position):
            require_number(number)
        with self._database.writing() as connection:
            before = _counters(connection)
            (last_id,) = connection.execute("SELECT ifnull(max(id), 0) FROM chunks").fetchone()
            _set_next(connection, max(next_turn, before.next_turn), max(next_position, before.next_position))
            counters = _counters(connection)
            for record in records:
                _restore(connection, record, counters)
                _set_change(connection, counters.change + 1)
            for entry in audit:
                found = _find(connection, key_of_number(entry.key.turn), entry.key.index, entry.key.role)
                if found is not None and found[0] > last_id:
                    _record(connection, entry.time, entry.origin, entry.action, found[0])

    def tokens_by_positions(self, positions: Iterable[int], *, include_deleted: bool = False) -> list[PlacedToken]:
        wanted = _sorted_positions(positions)
        tokens: list[PlacedToken] = []
        done = 0
        with self._database.reading() as connection:
            while done < len(wanted):
                row = _row_at_or_before(connection, wanted[done])
                if row is not None and (end := row.end) > wanted[done]:
                    following = bisect_left(wanted, end, done)
                    if include_deleted or not row.deleted:
                        tokens += _placed(row, wanted[done:following])
                else:
                    start = _start_behind(connection, wanted[done])
                    following = len(wanted) if start is None else bisect_left(wanted, start, done)
                done = following
        return tokens

    def delete(self, keys: Sequence[ChunkKey], origin: str) -> Changed:
        return self._set_deleted(keys, origin, deleted=True)

    def undelete(self, keys: Sequence[ChunkKey], origin: str) -> Changed:
        return self._set_deleted(keys, origin, deleted=False)

    def merge(self, left: ChunkKey, right: ChunkKey, origin: str) -> Stored:
        with self._database.writing() as connection:
            (left_id, left_row), (right_id, right_row) = _existing(connection, left), _existing(connection, right)
            _require_mergeable(left_row, right_row)
            change = _counters(connection).change + 1
            # The right one goes first: until then the positions of both would overlap.
            _update(connection, right_id, right_row._replace(merged_into=left_id, change=change))
            _update(connection, left_id, _merged(left_row, right_row)._replace(change=change))
            for chunk_id in (left_id, right_id):
                change = sqlite_vectors.remove(connection, chunk_id, change)
            _set_change(connection, change)
            _record(connection, self._clock(), origin, "merge", right_id)
            return _stored_of(connection.execute(f"{_SELECT_STORED} WHERE id = ?", (left_id,)).fetchone())

    def audit(self, after: int = 0, limit: int = 1000) -> list[AuditEntry]:
        with self._database.reading() as connection:
            rows = connection.execute(
                "SELECT audit.id, audit.time, origin, action, turn, number, role FROM audit"
                " JOIN chunks ON chunks.id = audit.chunk WHERE audit.id > ? ORDER BY audit.id LIMIT ?",
                (after, limit),
            )
            return [
                AuditEntry(
                    entry, time_of_microseconds(time), origin, action, ChunkKey(stored_number(turn), number, role)
                )
                for entry, time, origin, action, turn, number, role in rows
            ]

    def put_vectors(
        self, embedder: str, vectors: Mapping[int, NDArray[np.floating[Any]]], *, as_of: int | None = None
    ) -> list[int]:
        if not vectors:
            return []
        with self._database.writing() as connection:
            change = _counters(connection).change
            kept = sqlite_vectors.put(connection, embedder, vectors, change, as_of)
            _set_change(connection, change + len(kept))
        return kept

    def vectors_since(self, embedder: str, change_number: int, limit: int = 10_000) -> VectorChanges:
        with self._database.reading() as connection:
            return sqlite_vectors.since(connection, embedder, change_number, limit)

    def vectors_by_ids(self, embedder: str, ids: Sequence[int]) -> tuple[NDArray[np.int64], VectorMatrix]:
        with self._database.reading() as connection:
            return sqlite_vectors.by_ids(connection, embedder, ids)

    def ids_without_vector(self, embedder: str, after: int = 0, limit: int = 1000) -> list[int]:
        with self._database.reading() as connection:
            return sqlite_vectors.ids_without(connection, embedder, after, limit)

    def search_words(self, terms: Sequence[str], limit: int) -> list[WordMatch]:
        if not (query := _words_query(terms)):
            return []
        with self._database.reading() as connection:
            rows = connection.execute(
                "SELECT rowid, -rank FROM words WHERE words MATCH ? ORDER BY rank, rowid LIMIT ?", (query, limit)
            )
            return [WordMatch(*row) for row in rows]

    def change_number(self) -> int:
        with self._database.reading() as connection:
            return _counters(connection).change

    def stats(self) -> Stats:
        with self._database.reading() as connection:
            chunks, deleted, tokens = connection.execute(
                "SELECT count(*), total(deleted), total(token_count) FROM chunks WHERE merged_into IS NULL"
            ).fetchone()
            (merged,) = connection.execute("SELECT count(*) FROM chunks WHERE merged_into IS NOT NULL").fetchone()
            counters = _counters(connection)
            pages, page_bytes, version = (
                connection.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("page_count", "page_size", "user_version")
            )
            return Stats(
                chunks=chunks,
                deleted_chunks=int(deleted),
                merged_chunks=merged,
                tokens=int(tokens),
                next_turn=counters.next_turn,
                next_position=counters.next_position,
                vectors=sqlite_vectors.count_by_embedder(connection),
                change_number=counters.change,
                schema_version=version,
                bytes=pages * page_bytes,
            )

    def backup(self, path: Path) -> None:
        self._database.backup(path.absolute())

    def verify(self) -> list[str]:
        with self._database.reading() as connection:
            findings = sqlite_verify.findings(connection)
        try:
            with self._database.copied() as copy:
                findings += sqlite_verify.findings_in_words(copy)
        except StoreDamaged as error:
            findings.append(str(error))
        return findings

    def close(self) -> None:
        self._database.close()

    def _stored(self, where: str, parameters: tuple[Any, ...]) -> list[Stored]:
        with self._database.reading() as connection:
            return [_stored_of(row) for row in connection.execute(f"{_SELECT_STORED} {where}", parameters)]

    def _set_deleted(self, keys: Sequence[ChunkKey], origin: str, *, deleted: bool) -> Changed:
        now = self._clock()
        changed, unchanged = [], []
        with self._database.writing() as connection:
            change = _counters(connection).change
            for key in dict.fromkeys(keys):
                chunk_id, row = _existing(connection, key)
                if row.deleted == deleted:
                    unchanged.append(key)
                    continue
                changed.append(key)
                _update(
                    connection, chunk_id, _with_deletion(row, deleted, microseconds(now))._replace(change=change + 1)
                )
                change = sqlite_vectors.remove(connection, chunk_id, change + 1)
                _record(connection, now, origin, "delete" if deleted else "undelete", chunk_id)
            _set_change(connection, change)
        return Changed(tuple(changed), tuple(unchanged))


def _stored_of(columns: tuple[Any, ...]) -> Stored:
    chunk_id, embedder, *row = columns
    return Stored(chunk_id, chunk_of_row(sound_row(chunk_id, tuple(row)), embedder))


def _counters(connection: sqlite3.Connection) -> _Counters:
    turn, position, change = connection.execute("SELECT next_turn, next_position, change FROM counters").fetchone()
    return _Counters(stored_number(turn), stored_number(position), change)


def _set_next(connection: sqlite3.Connection, turn: int, position: int) -> None:
    connection.execute(
        "UPDATE counters SET next_turn = ?, next_position = ?", (key_of_number(turn), key_of_number(position))
    )


def _set_change(connection: sqlite3.Connection, change: int) -> None:
    connection.execute("UPDATE counters SET change = ?", (change,))


def _insert(connection: sqlite3.Connection, row: Row) -> int:
    chunk_id = connection.execute(_INSERT, (*row, checksum(row))).lastrowid
    assert chunk_id is not None
    return chunk_id


def _update(connection: sqlite3.Connection, chunk_id: int, row: Row) -> None:
    connection.execute(_UPDATE, (*(getattr(row, name) for name in _CHANGING), checksum(row), chunk_id))


def _record(connection: sqlite3.Connection, time: datetime, origin: str, action: Action, chunk_id: int) -> None:
    connection.execute(
        "INSERT INTO audit (time, origin, action, chunk) VALUES (?, ?, ?, ?)",
        (microseconds(time), origin, action, chunk_id),
    )


def _find(connection: sqlite3.Connection, turn: bytes, number: int, role: str) -> tuple[int, Row] | None:
    """Merged ones too."""
    found = connection.execute(
        f"{_SELECT_ROW} WHERE turn = ? AND number = ? AND role = ?", (turn, number, role)
    ).fetchone()
    return None if found is None else (found[0], sound_row(found[0], found[1:]))


def _existing(connection: sqlite3.Connection, key: ChunkKey) -> tuple[int, Row]:
    found = _find(connection, key_of_number(key.turn), key.index, key.role)
    if found is None:
        raise InputError(f"There is no chunk {key}; nothing was changed.")
    if found[1].merged_into is not None:
        raise InputError(f"Chunk {key} was merged into the one before it; nothing was changed.")
    return found


def _row_at_or_before(connection: sqlite3.Connection, position: int) -> Row | None:
    found = connection.execute(
        f"{_SELECT_ROW} WHERE merged_into IS NULL AND first_position <= ? ORDER BY first_position DESC LIMIT 1",
        (key_of_number(position),),
    ).fetchone()
    return None if found is None else sound_row(found[0], found[1:])


def _start_behind(connection: sqlite3.Connection, position: int) -> int | None:
    found = connection.execute(
        "SELECT first_position FROM chunks WHERE merged_into IS NULL AND first_position > ?"
        " ORDER BY first_position LIMIT 1",
        (key_of_number(position),),
    ).fetchone()
    return None if found is None else stored_number(found[0])


def _sorted_positions(positions: Iterable[int]) -> list[int]:
    wanted = list(positions)
    for position in wanted:
        require_number(position)
    return sorted(set(wanted))


def _placed(row: Row, positions: list[int]) -> Iterator[PlacedToken]:
    start, text = row.start, row.text
    places = [position - start for position in positions]
    ids = unpack(row.token_ids)[places].tolist()
    ends = list(itertools.accumulate(unpack(row.piece_lengths).tolist(), initial=0))
    pieces = [text[ends[place] : ends[place + 1]] for place in places]
    return map(PlacedToken, positions, ids, pieces, itertools.repeat(row.key))


def _require_given_out(row: Row, counters: _Counters) -> None:
    if row.key.turn >= counters.next_turn:
        raise InputError(f"Turn {text_of_number(row.key.turn)} was never reserved; nothing was written.")
    if row.end > counters.next_position:
        raise InputError(f"Position {text_of_number(row.end - 1)} was never reserved; nothing was written.")


def _require_new(connection: sqlite3.Connection, row: Row) -> None:
    if _find(connection, row.turn, row.number, row.role) is not None:
        raise StoreConflict(f"Chunk {row.key} is in the memory already; nothing was written.")
    earlier = _row_at_or_before(connection, row.end - 1)
    if earlier is not None and earlier.end > row.start:
        raise StoreConflict(
            f"Chunk {row.key} would begin at position {text_of_number(row.start)}, but chunk {earlier.key} has "
            f"positions {text_of_number(earlier.start)} to {text_of_number(earlier.end - 1)}; nothing was written."
        )


def _restore(connection: sqlite3.Connection, record: Record, counters: _Counters) -> None:
    row = row_of_chunk(record.chunk, counters.change + 1)
    _require_given_out(row, counters)
    if record.merged_into is None:
        _require_new(connection, row)
        _insert(connection, row)
        return
    if _find(connection, row.turn, row.number, row.role) is not None:
        raise StoreConflict(f"Chunk {row.key} is in the memory already; nothing was written.")
    target = _find(connection, row.turn, record.merged_into, row.role)
    if target is None or not target[1].start < row.start < row.end <= target[1].end:
        raise InputError(f"Chunk {row.key} is not part of the one that it was merged into; nothing was changed.")
    _insert(connection, row._replace(merged_into=target[0]))


def _with_deletion(row: Row, deleted: bool, time: int) -> Row:
    return row._replace(deleted=1, deleted_at=time) if deleted else row._replace(deleted=0, undeleted_at=time)


def _require_mergeable(left: Row, right: Row) -> None:
    reason = None
    if (left.turn, left.role) != (right.turn, right.role):
        reason = "do not belong to one turn and role"
    elif left.end != right.start:
        reason = "do not follow each other without a gap"
    elif left.deleted or right.deleted:
        reason = "are not both alive; undelete what was deleted first"
    if reason:
        raise InputError(f"Chunks {left.key} and {right.key} cannot be merged: they {reason}; nothing was changed.")


def _merged(left: Row, right: Row) -> Row:
    return left._replace(
        token_count=left.token_count + right.token_count,
        text=left.text + right.text,
        token_ids=pack([*unpack(left.token_ids).tolist(), *unpack(right.token_ids).tolist()]),
        piece_lengths=pack([*unpack(left.piece_lengths).tolist(), *unpack(right.piece_lengths).tolist()]),
    )


def _words_query(terms: Iterable[str]) -> str:
    """Each term as a phrase in quotes, in which nothing has a meaning but the quote itself and the end of a C text."""
    spaced = (" ".join(term.replace("\0", " ").encode(errors="replace").decode().split()) for term in terms)
    phrases = dict.fromkeys(term for term in spaced if term)
    return " OR ".join(f'"{phrase.replace(chr(34), chr(34) * 2)}"' for phrase in phrases)
