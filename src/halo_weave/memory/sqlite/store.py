"""The store in one SQLite file."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from halo_weave.errors import InputError, StoreDamaged, StoreError
from halo_weave.memory.sqlite import audit as sqlite_audit
from halo_weave.memory.sqlite import counters as sqlite_counters
from halo_weave.memory.sqlite import forgetting, outlines, settings, vectors
from halo_weave.memory.sqlite import totals as sqlite_totals
from halo_weave.memory.sqlite import wishes as sqlite_wishes
from halo_weave.memory.sqlite.chunks import (
    SELECT_STORED,
    existing,
    insert,
    merged,
    require_given_out,
    require_mergeable,
    require_new,
    sorted_positions,
    stored_by_keys,
    stored_of,
    stored_of_turns,
    tokens_at,
    update,
    with_deletion,
)
from halo_weave.memory.sqlite.counters import read_counters, set_change, set_next
from halo_weave.memory.sqlite.database import Database
from halo_weave.memory.sqlite.notes import SqliteNotes
from halo_weave.memory.sqlite.repair import repairing
from halo_weave.memory.sqlite.repair import set_aside as sqlite_set_aside
from halo_weave.memory.sqlite.repair import verify as sqlite_verify
from halo_weave.memory.sqlite.restoring import arrivals, notes_and_tree, restoring
from halo_weave.memory.sqlite.rows import COLUMNS, chunk_of_row, microseconds, row_of_chunk, sound_row
from halo_weave.memory.sqlite.token_keys import SqliteTokenKeys
from halo_weave.memory.sqlite.tree.entries import SqliteTree
from halo_weave.memory.sqlite.vector_sets import SqliteVectors
from halo_weave.memory.sqlite.windows import SqliteWindows
from halo_weave.memory.sqlite.words import SqliteWords
from halo_weave.memory.store.protocol import Store
from halo_weave.memory.words.index import INDEX_FROM_CHUNKS
from halo_weave.records.chunks import (
    AuditEntry,
    Changed,
    Chunk,
    ChunkKey,
    Outline,
    PlacedToken,
    Record,
    Reservation,
    Stats,
    Stored,
    WordCounts,
    WordMatch,
    WordPlaces,
    utc_now,
)
from halo_weave.records.damage import Repaired, SetAside
from halo_weave.records.notes_and_tree import NotesOrTreeRecord, RestoredKept
from halo_weave.records.numbers import key_of_number, require_number
from halo_weave.records.roles import Role


class _DryRun(Exception):
    """Rolls a transaction back."""


class SqliteStore(SqliteNotes, SqliteTokenKeys, SqliteTree, SqliteVectors, SqliteWindows):
    """`timeout_s` is how long a write waits for other writers. `clock` provides the times of deletions and merges.

    From `word_index_from_chunks` chunks on, an index file beside the memory speeds up word search; None disables it.
    """

    def __init__(
        self,
        path: Path,
        *,
        timeout_s: float = 30.0,
        clock: Callable[[], datetime] = utc_now,
        word_index_from_chunks: int | None = INDEX_FROM_CHUNKS,
    ) -> None:
        self._database = Database(path, timeout_s=timeout_s)
        self._clock = clock
        self._words = SqliteWords(self._database, word_index_from_chunks)
        try:
            forgetting.finish_erasing(self._database, self._words.remove_index)
        except BaseException:
            self.close()
            raise

    @property
    def path(self) -> Path:
        return self._database.path

    def identity(self) -> str:
        with self._database.reading() as connection:
            return settings.identity(connection)

    def reserve(self, tokens: int) -> Reservation:
        require_number(tokens)
        if tokens == 0:
            raise InputError("Cannot reserve 0 tokens; reserve at least 1.")
        # It is safe not to wait for the disk. SQLite syncs the write-ahead log as a whole, so any later durable write
        # under these numbers makes the reservation durable too. If a power cut undoes the reservation, nothing written
        # under it has survived either, and the numbers may be handed out again.
        with self._database.writing(durable=False) as connection:
            counters = read_counters(connection)
            turn, start = counters.next_turn, counters.next_position
            reservation = Reservation(turn, turn + 1, start, start + tokens)
            set_next(connection, turn + 2, start + tokens)
        return reservation

    def advance(self, *, next_turn: int, next_position: int) -> None:
        for number in (next_turn, next_position):
            require_number(number)
        with self._database.writing() as connection:
            sqlite_counters.advance(connection, next_turn, next_position)

    def write_chunks(self, chunks: Sequence[Chunk]) -> list[int]:
        if not chunks:
            return []
        are_wishes = [sqlite_wishes.is_of_user(chunk.key.role, chunk.text) for chunk in chunks]
        with self._database.writing() as connection:
            counters = read_counters(connection)
            change = counters.change + 1
            ids = []
            for chunk, is_wish in zip(chunks, are_wishes, strict=True):
                row = row_of_chunk(chunk, change)
                require_given_out(row, counters)
                forgetting.require_not_forgotten(connection, row)
                sqlite_set_aside.require_free(connection, row)
                require_new(connection, row)
                ids.append(insert(connection, row, is_wish=is_wish))
            set_change(connection, change)
        return ids

    def chunk(self, key: ChunkKey) -> Stored | None:
        found = self._stored(
            "WHERE turn = ? AND number = ? AND role = ? AND merged_into IS NULL",
            (key_of_number(key.turn), key.index, key.role),
        )
        return found[0] if found else None

    def chunks_of_turn(self, turn: int) -> list[Stored]:
        return self._stored("WHERE turn = ? AND merged_into IS NULL ORDER BY first_position", (key_of_number(turn),))

    def chunks_by_keys(self, keys: Iterable[ChunkKey]) -> dict[ChunkKey, Stored]:
        with self._database.reading() as connection:
            return {stored.chunk.key: stored for stored in stored_by_keys(connection, keys)}

    def chunks_of_turns(self, turns: Iterable[int]) -> list[Stored]:
        with self._database.reading() as connection:
            return stored_of_turns(connection, turns)

    def next_index(self, turn: int, role: Role) -> int:
        query = (
            "SELECT ifnull(max(number) + 1, 0) FROM (SELECT turn, number, role FROM chunks"
            " UNION ALL SELECT turn, number, role FROM forgotten"
            " UNION ALL SELECT turn, number, role FROM damaged) WHERE turn = ? AND role = ?"
        )
        with self._database.reading() as connection:
            (index,) = connection.execute(query, (key_of_number(turn), role)).fetchone()
        return int(index)

    def chunks_by_ids(self, ids: Sequence[int]) -> list[Stored]:
        query = f"{SELECT_STORED} WHERE id IN (SELECT value FROM json_each(?)) AND merged_into IS NULL"
        with self._database.reading() as connection:
            rows = connection.execute(query, (msgspec.json.encode(list(ids)).decode(),))
            found = {row[0]: stored_of(row) for row in rows}
        return [found[chunk_id] for chunk_id in ids if chunk_id in found]

    def outlines_by_ids(self, ids: Sequence[int], *, with_metadata: bool = False) -> list[Outline]:
        with self._database.reading() as connection:
            return outlines.by_ids(connection, ids, with_metadata=with_metadata)

    def outlines_between(
        self, since: datetime | None, until: datetime | None, most: int, *, with_metadata: bool = False
    ) -> list[Outline] | None:
        with self._database.reading() as connection:
            return outlines.between(connection, since, until, most, with_metadata=with_metadata)

    def wishes(self, most: int) -> list[int]:
        with self._database.reading() as connection:
            return sqlite_wishes.newest(connection, most)

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
        self,
        records: Iterable[Record],
        audit: Iterable[AuditEntry],
        kept: Iterable[NotesOrTreeRecord] = (),
        *,
        next_turn: int,
        next_position: int,
    ) -> RestoredKept:
        for number in (next_turn, next_position):
            require_number(number)
        with (
            arrivals.set_aside(self.path, records) as file,
            self._database.writing(reading_from=(file, arrivals.SCHEMA)) as connection,
        ):
            sqlite_counters.advance(connection, next_turn, next_position)
            restoring.restore(connection, audit)
            return notes_and_tree.restore(connection, kept)

    def tokens_by_positions(self, positions: Iterable[int], *, include_deleted: bool = False) -> list[PlacedToken]:
        wanted = sorted_positions(positions)
        with self._database.reading() as connection:
            return tokens_at(connection, wanted, include_deleted=include_deleted)

    def delete(self, keys: Sequence[ChunkKey], origin: str) -> Changed:
        return self._set_deleted(keys, origin, deleted=True)

    def undelete(self, keys: Sequence[ChunkKey], origin: str) -> Changed:
        return self._set_deleted(keys, origin, deleted=False)

    def merge(self, left: ChunkKey, right: ChunkKey, origin: str) -> Stored:
        with self._database.writing() as connection:
            (left_id, left_row), (right_id, right_row) = existing(connection, left), existing(connection, right)
            require_mergeable(left_row, right_row)
            change = read_counters(connection).change + 1
            # The right one first: otherwise their positions would overlap for a moment.
            update(connection, right_id, right_row._replace(merged_into=left_id, change=change))
            joined = merged(left_row, right_row)._replace(change=change)
            update(connection, left_id, joined)
            sqlite_wishes.note(connection, left_id, is_wish=sqlite_wishes.is_of_user(joined.role, joined.text))
            for chunk_id in (left_id, right_id):
                change = vectors.remove(connection, chunk_id, change)
            set_change(connection, change)
            sqlite_audit.record(connection, self._clock(), origin, "merge", right)
            return stored_of(connection.execute(f"{SELECT_STORED} WHERE id = ?", (left_id,)).fetchone())

    def forget(self, keys: Sequence[ChunkKey], origin: str) -> tuple[ChunkKey, ...]:
        return self._forget(lambda _: dict.fromkeys(keys), origin)

    def forget_all_deleted(self, origin: str) -> tuple[ChunkKey, ...]:
        return self._forget(forgetting.deleted_keys, origin)

    def clear(self, origin: str) -> None:
        with self._database.writing() as connection:
            forgetting.clear(connection)
            set_change(connection, read_counters(connection).change + 1)
            sqlite_audit.record(connection, self._clock(), origin, "clear", None)
        forgetting.erase(self._database, self._words.remove_index)

    def audit(self, after: int = 0, limit: int = 1000) -> list[AuditEntry]:
        with self._database.reading() as connection:
            return sqlite_audit.entries(connection, after, limit)

    def search_words(self, terms: Sequence[str], limit: int, *, among: Sequence[int] | None = None) -> list[WordMatch]:
        return self._words.search(terms, limit, among)

    def count_words(self, terms: Sequence[str]) -> WordCounts:
        return self._words.count(terms)

    def word_places(self, terms: Sequence[str], ids: NDArray[np.int64]) -> WordPlaces:
        return self._words.places(terms, ids)

    def wait_until_indexed(self) -> None:
        """Wait until no word index is being built. Searches need not wait for it."""
        self._words.wait_until_indexed()

    def change_number(self) -> int:
        with self._database.reading() as connection:
            return read_counters(connection).change

    def stats(self) -> Stats:
        with self._database.reading() as connection:
            totals, counters = sqlite_totals.read_totals(connection), read_counters(connection)
            pages, page_bytes, version = (
                connection.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("page_count", "page_size", "user_version")
            )
            return Stats(
                chunks=totals.chunks,
                deleted_chunks=totals.deleted,
                merged_chunks=totals.merged,
                tokens=totals.tokens,
                next_turn=counters.next_turn,
                next_position=counters.next_position,
                vectors=sqlite_totals.vectors_by_embedder(connection),
                change_number=counters.change,
                schema_version=version,
                bytes=pages * page_bytes,
            )

    def backup(self, path: Path) -> None:
        self._database.backup(path.absolute())

    def check(self) -> list[str]:
        with self._database.reading() as connection:
            return sqlite_verify.quick_findings(connection)

    def verify(self) -> list[str]:
        with self._database.reading() as connection:
            findings = sqlite_verify.findings(connection)
        try:
            with self._database.copied() as copy:
                findings += sqlite_verify.findings_in_words(copy)
        except StoreDamaged as error:
            findings.append(str(error))
        return findings

    def repair(self, *, dry_run: bool = False) -> Repaired:
        if not self.verify():
            return Repaired()
        outcome = Repaired()
        with suppress(_DryRun), self._database.writing() as connection:
            outcome = repairing.repair(connection, self._clock())
            left = sqlite_verify.findings(connection) + sqlite_verify.findings_in_words(connection)
            if left:
                raise StoreDamaged(
                    f"The memory {self.path} has damage that cannot be repaired ({left[0].removesuffix('.')}); restore "
                    "a backup. Nothing was changed."
                )
            if dry_run:
                raise _DryRun
        if not dry_run:
            self._words.remove_index()
        return outcome

    def set_aside(self) -> list[SetAside]:
        with self._database.reading() as connection:
            return sqlite_set_aside.entries(connection)

    @contextmanager
    def repaired_copy(self) -> Iterator[tuple[Store, Repaired]]:
        with self._database.copied_file() as file, closing(SqliteStore(file, clock=self._clock)) as copy:
            try:
                with copy._database.writing(durable=False) as connection:
                    outcome = repairing.repair(connection, self._clock())
            except StoreError as error:
                raise type(error)(str(error).replace(str(file), str(self.path))) from error
            yield copy, outcome

    def close(self) -> None:
        self._words.close()
        self._database.close()

    def _stored(self, where: str, parameters: tuple[Any, ...]) -> list[Stored]:
        with self._database.reading() as connection:
            return [stored_of(row) for row in connection.execute(f"{SELECT_STORED} {where}", parameters)]

    def _forget(self, choose: Callable[[sqlite3.Connection], Iterable[ChunkKey]], origin: str) -> tuple[ChunkKey, ...]:
        with self._database.writing() as connection:
            keys = tuple(choose(connection))
            if not keys:
                return ()
            forgetting.forget(connection, keys)
            set_change(connection, read_counters(connection).change + 1)
            for key in keys:
                sqlite_audit.record(connection, self._clock(), origin, "forget", key)
        forgetting.erase(self._database, self._words.remove_index)
        return keys

    def _set_deleted(self, keys: Sequence[ChunkKey], origin: str, *, deleted: bool) -> Changed:
        now = self._clock()
        changed, unchanged = [], []
        with self._database.writing() as connection:
            change = read_counters(connection).change
            for key in dict.fromkeys(keys):
                chunk_id, row = existing(connection, key)
                if row.deleted == deleted:
                    unchanged.append(key)
                    continue
                changed.append(key)
                update(connection, chunk_id, with_deletion(row, deleted, microseconds(now))._replace(change=change + 1))
                change = vectors.remove(connection, chunk_id, change + 1)
                sqlite_audit.record(connection, now, origin, "delete" if deleted else "undelete", key)
            set_change(connection, change)
        return Changed(tuple(changed), tuple(unchanged))
