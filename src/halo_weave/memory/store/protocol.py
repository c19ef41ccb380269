"""Storage of the memory: one record of everything said, shared by all windows, threads and processes.

Every call is one transaction: it takes effect completely or not at all, and others see it only when it is complete.
Acknowledged writes survive a crash of the process or the machine. A store is thread-safe.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from halo_weave.memory.store.keys import KeyStore
from halo_weave.memory.store.notes import NotesStore
from halo_weave.memory.store.tree import TreeStore
from halo_weave.memory.store.windows import WindowStore
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
    VectorChanges,
    VectorMatrix,
    WordCounts,
    WordMatch,
    WordPlaces,
)
from halo_weave.records.damage import Repaired, SetAside
from halo_weave.records.notes_and_tree import NotesOrTreeRecord, RestoredKept
from halo_weave.records.roles import Role

FIRST_TURN = 1
"""Turn 0 is reserved for a window's own text, its system prompt."""
FIRST_POSITION = 0


class Store(KeyStore, NotesStore, TreeStore, WindowStore, Protocol):
    def identity(self) -> str:
        """Return this memory's random id. Copies keep it; `clear` replaces it.

        Data derived from a memory with another id does not belong to this one.
        """
        ...

    def reserve(self, tokens: int) -> Reservation:
        """Reserve a user turn, its assistant turn and `tokens` positions, none of which is ever handed out again."""
        ...

    def advance(self, *, next_turn: int, next_position: int) -> None:
        """Hand out no turn or position below these, so that a caller may write the lower ones. Never moves back."""
        ...

    def write_chunks(self, chunks: Sequence[Chunk]) -> list[int]:
        """Write all chunks or none and return their ids in order.

        Raises StoreConflict if a key or position is taken, and InputError if a turn or position was never handed out.
        """
        ...

    def chunk(self, key: ChunkKey) -> Stored | None:
        """Return the chunk, even if deleted. A chunk that was merged away is gone."""
        ...

    def chunks_of_turn(self, turn: int) -> list[Stored]:
        """Return chunks in order of position, including deleted ones."""
        ...

    def chunks_by_keys(self, keys: Iterable[ChunkKey]) -> dict[ChunkKey, Stored]:
        """Return those that exist, including deleted ones."""
        ...

    def chunks_of_turns(self, turns: Iterable[int]) -> list[Stored]:
        """Return chunks in order of position, including deleted ones."""
        ...

    def next_index(self, turn: int, role: Role) -> int:
        """Return an index above every index ever used in this turn, including those of merged and forgotten chunks."""
        ...

    def chunks_by_ids(self, ids: Sequence[int]) -> list[Stored]:
        """Return chunks in the order of `ids`, without those that do not exist or were merged away."""
        ...

    def outlines_by_ids(self, ids: Sequence[int], *, with_metadata: bool = False) -> list[Outline]:
        """Like `chunks_by_ids`, in any order and without the fields that are slow to read."""
        ...

    def outlines_between(
        self, since: datetime | None, until: datetime | None, most: int, *, with_metadata: bool = False
    ) -> list[Outline] | None:
        """Return the chunks with `since` <= time < `until` that are not deleted, in order of time.

        Returns None if there are more than `most`; that count includes deleted and merged chunks.
        """
        ...

    def wishes(self, most: int) -> list[int]:
        """Return the ids of at most `most` user chunks that are wishes (`text.languages.wishes`) and not deleted,
        newest first.

        Long turns are excluded: pasted text contains instructions meant for someone else.
        """
        ...

    def chunks_from(self, position: int, limit: int) -> list[Stored]:
        """Return up to `limit` chunks that begin at `position` or later, in order of position, including deleted ones.

        To iterate over all, start at 0 and continue at the last chunk's `end_position`.
        """
        ...

    def merged_from(self, position: int, limit: int) -> list[Record]:
        """Return up to `limit` merged-away chunks that began at `position` or later, in order of position.

        To iterate over all, start at 0 and continue at the last one's `first_position` + 1.
        """
        ...

    def restore(
        self,
        records: Iterable[Record],
        audit: Iterable[AuditEntry],
        kept: Iterable[NotesOrTreeRecord] = (),
        *,
        next_turn: int,
        next_position: int,
    ) -> RestoredKept:
        """Advance, and write the records of another memory unchanged, all or none.

        A merged-away record must come after the record it was merged into. Records that were forgotten here are
        skipped. Audit entries are added unless they are already in the log or concern a record that was already here;
        they get new numbers in the same order. Raises StoreConflict if a key or position is taken.

        `kept` holds all versions of the notes and of tree entries, starting with the first. Missing versions are
        written unless an earlier version here differs. In that case the local history stays unchanged and the result
        reports it.
        """
        ...

    def tokens_by_positions(self, positions: Iterable[int], *, include_deleted: bool = False) -> list[PlacedToken]:
        """Return tokens in ascending order without duplicates; skips positions without a token.

        The cost depends on the positions asked for, not on the size of the memory.
        """
        ...

    def delete(self, keys: Sequence[ChunkKey], origin: str) -> Changed:
        """Hide chunks from word and vector search but keep them in the record.

        Raises InputError, and changes nothing, if one of them does not exist.
        """
        ...

    def undelete(self, keys: Sequence[ChunkKey], origin: str) -> Changed:
        """Make chunks searchable by words at once. Their vectors must be stored again."""
        ...

    def merge(self, left: ChunkKey, right: ChunkKey, origin: str) -> Stored:
        """Merge two chunks into one under the key of `left`. Its vectors must be stored again.

        Both must have the same turn and role and not be deleted, and `right` must begin where `left` ends. The record
        of `right` is kept and marked as merged; its key is never used again.
        """
        ...

    def forget(self, keys: Sequence[ChunkKey], origin: str) -> tuple[ChunkKey, ...]:
        """Remove deleted chunks permanently, with the chunks merged into them, leaving no byte of them in the files.

        Also removes their copies from snapshots of the memory tree. Their keys and positions are never used again.
        Rewrites the whole memory, so others may have to wait.

        Raises InputError, and changes nothing, if one of them does not exist or is not deleted. Raises StoreUnavailable
        if the chunks are out of the record but, because of constant readers, not yet out of the file; the next open
        finishes that.
        """
        ...

    def forget_all_deleted(self, origin: str) -> tuple[ChunkKey, ...]:
        """Like `forget`, for all deleted chunks; returns their keys."""
        ...

    def clear(self, origin: str) -> None:
        """Remove all chunks, vectors, windows, timelines, journals, notes and the tree, as thoroughly as `forget`.

        Turn and position numbers continue where they were, and forgotten chunks stay forgotten. Cleared records may be
        restored. The audit log stays and records the clearing.
        """
        ...

    def audit(self, after: int = 0, limit: int = 1000) -> list[AuditEntry]:
        """Return up to `limit` entries with numbers above `after`, in order of their numbers."""
        ...

    def put_vectors(
        self, embedder: str, vectors: Mapping[int, NDArray[np.floating[Any]]], *, as_of: int | None = None
    ) -> list[int]:
        """Store vectors by chunk id, replacing the embedder's earlier ones; returns the stored ids.

        Vectors are float16 or float32, with one type and length per embedder. Skips chunks that are deleted, merged
        away or forgotten, and chunks that changed after `as_of`, the change number at which their texts were read.
        """
        ...

    def vectors_since(self, embedder: str, change_number: int, limit: int = 10_000) -> VectorChanges:
        """Return up to `limit` changes after `change_number`. Empty `ids` and `removed` mean that there are no more."""
        ...

    def vectors_by_ids(self, embedder: str, ids: Sequence[int]) -> tuple[NDArray[np.int64], VectorMatrix]:
        """Return those of `ids` that have a vector, in the order given, and one row for each."""
        ...

    def ids_without_vector(self, embedder: str, after: int = 0, limit: int = 1000) -> list[int]:
        """Return ids above `after` without this embedder's vector, excluding deleted and merged-away chunks."""
        ...

    def outdate_vectors(self, ids: Sequence[int]) -> None:
        """Remove these chunks' vectors, also in snapshots, because the text around them has changed.

        Afterwards, `put_vectors` rejects those of texts that were read earlier (see `as_of`).
        """
        ...

    def drop_vectors(self, embedder: str) -> int:
        """Remove all vectors of an embedder and return their number. Raises InputError if it is the serving one."""
        ...

    def serving_embedder(self) -> str | None:
        """Return the embedder whose vectors the search uses.

        Check it before each search and each embedding: another process may change it.
        """
        ...

    def serve_embedder(self, name: str, *, even_if_incomplete: bool = False) -> None:
        """Make the search use this embedder's vectors.

        Raises InputError, and changes nothing, if another embedder serves and a chunk lacks the new vector: embed what
        `ids_without_vector` returns, then try again. It also returns chunks that a process embeds with the old embedder
        later.
        """
        ...

    def search_words(self, terms: Sequence[str], limit: int, *, among: Sequence[int] | None = None) -> list[WordMatch]:
        """Return chunks with any of the terms, best first. Any text is a term; several words form a phrase.

        `among` restricts the search to these ids; the weight of a term still depends on all chunks.
        """
        ...

    def count_words(self, terms: Sequence[str]) -> WordCounts:
        """Count the chunks that contain each term. Cheaper than searching."""
        ...

    def word_places(self, terms: Sequence[str], ids: NDArray[np.int64]) -> WordPlaces:
        """Return how often each term occurs in each of these chunks, and how widely it is spread.

        Ids must ascend; ids of chunks that cannot be found get zeros. A term of several words counts as its rarest
        word.
        """
        ...

    def change_number(self) -> int:
        """Return a number that grows with every change of chunks or vectors in any process. Reservations do not
        count."""
        ...

    def stats(self) -> Stats: ...

    def backup(self, path: Path) -> None:
        """Write a complete, consistent copy to a path that does not exist yet. Others can read and write meanwhile."""
        ...

    def check(self) -> list[str]:
        """Return a sentence for each problem with the file and its counters. `verify` also reads every record."""
        ...

    def verify(self) -> list[str]:
        """Return a sentence for each problem. Reads the whole memory; others can read and write meanwhile."""
        ...

    def repair(self, *, dry_run: bool = False) -> Repaired:
        """Set damaged rows aside and rebuild derived data, in one transaction. `verify` finds nothing afterwards.

        Raises StoreDamaged, and changes nothing, if the damage goes beyond rows.
        """
        ...

    def set_aside(self) -> list[SetAside]:
        """Return the rows that repairs have set aside, in order."""
        ...

    def repaired_copy(self) -> AbstractContextManager[tuple["Store", Repaired]]:
        """Provide a temporary copy without the damaged rows. The memory itself stays unchanged."""
        ...

    def close(self) -> None: ...
