"""The memory at rest: one record of everything said, for all windows, threads and processes.

Every call is one transaction: it happens wholly or not at all, and others see it only once it is done. What was
acknowledged survives a crash of the process and of the machine. A store may be used from several threads at once.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

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
"""Turn 0 is left to what a window says for itself, its system prompt."""
FIRST_POSITION = 0


class Store(NotesStore, TreeStore, WindowStore, Protocol):
    def identity(self) -> str:
        """A random name of this memory, made with it and kept by its copies; another one after `clear`.

        What was derived from a memory under another identity is not of this one.
        """
        ...

    def reserve(self, tokens: int) -> Reservation:
        """A user's turn, its assistant's turn and `tokens` positions that nobody had or will have."""
        ...

    def advance(self, *, next_turn: int, next_position: int) -> None:
        """Give out only turns and positions from these on, so that those below may be written; never goes back."""
        ...

    def write_chunks(self, chunks: Sequence[Chunk]) -> list[int]:
        """Write all or none, and give their ids in order.

        StoreConflict if a key or a position is taken; InputError if a turn or position was not given out before.
        """
        ...

    def chunk(self, key: ChunkKey) -> Stored | None:
        """Deleted ones too; one that was merged away is gone."""
        ...

    def chunks_of_turn(self, turn: int) -> list[Stored]:
        """In order of position, deleted ones too."""
        ...

    def chunks_by_keys(self, keys: Iterable[ChunkKey]) -> dict[ChunkKey, Stored]:
        """Those of these that are there, deleted ones too."""
        ...

    def chunks_of_turns(self, turns: Iterable[int]) -> list[Stored]:
        """In order of position, deleted ones too."""
        ...

    def next_index(self, turn: int, role: Role) -> int:
        """Above all indexes that chunks of this turn ever had, merged away and forgotten ones too."""
        ...

    def chunks_by_ids(self, ids: Sequence[int]) -> list[Stored]:
        """In the order of `ids`; those that are not there or were merged away are left out."""
        ...

    def outlines_by_ids(self, ids: Sequence[int], *, with_metadata: bool = False) -> list[Outline]:
        """The same in any order, without what takes time to read."""
        ...

    def outlines_between(
        self, since: datetime | None, until: datetime | None, most: int, *, with_metadata: bool = False
    ) -> list[Outline] | None:
        """Chunks from a time on and before another that are not deleted, in order of time.

        None if there are more than `most`, for which deleted and merged ones count.
        """
        ...

    def wishes(self, most: int) -> list[int]:
        """Ids of what a user said that is a wish (`text.wishes`) and not deleted, the newest first, so many at most.

        Long turns do not count: what is pasted has orders to others.
        """
        ...

    def chunks_from(self, position: int, limit: int) -> list[Stored]:
        """Up to `limit` chunks that begin at `position` or later, in order of position, deleted ones too.

        To walk over all: begin at 0, go on at the last chunk's `end_position`.
        """
        ...

    def merged_from(self, position: int, limit: int) -> list[Record]:
        """Up to `limit` chunks that were merged away and began at `position` or later, in order of position.

        To walk over all: begin at 0, go on one behind the last one's `first_position`.
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
        """Advance, and write records of another memory as they were there, all or none.

        What was merged away comes behind what it was merged into. What was forgotten here stays so and is left out.
        Of the entries those are kept that are not in the log and about no record that was here before; they get new
        numbers in their order. StoreConflict if a key or a position is taken.

        `kept` are all versions of the notes and of entries of the tree, from the first on. Those that are not here are
        written, unless another one is in the place of one before them: then ours stays as it is, and it is told.
        """
        ...

    def tokens_by_positions(self, positions: Iterable[int], *, include_deleted: bool = False) -> list[PlacedToken]:
        """In ascending order, each once; positions without a token are left out. Costs by what is asked for."""
        ...

    def delete(self, keys: Sequence[ChunkKey], origin: str) -> Changed:
        """Out of words and vectors, but kept in the record. InputError if one is not there; then nothing changes."""
        ...

    def undelete(self, keys: Sequence[ChunkKey], origin: str) -> Changed:
        """Found by its words again at once; its vectors have to be put again."""
        ...

    def merge(self, left: ChunkKey, right: ChunkKey, origin: str) -> Stored:
        """One chunk under the key of `left`; its vectors have to be put again.

        Both belong to one turn and role, are not deleted, and `right` begins where `left` ends. The record of `right`
        is kept, marked as merged; its key is gone and never used again.
        """
        ...

    def forget(self, keys: Sequence[ChunkKey], origin: str) -> tuple[ChunkKey, ...]:
        """Remove deleted chunks for ever, with what was merged into them: no byte of theirs is left in the files.

        Their copies in snapshots of the memory tree go with them. Their keys and positions are never used again.
        Rewrites the whole memory, so that others may have to wait. InputError if one is not there or not deleted; then
        nothing changes. StoreUnavailable if they are out of the record but, because others read it all the time, not
        yet out of the file: that is done when it is opened next.
        """
        ...

    def forget_all_deleted(self, origin: str) -> tuple[ChunkKey, ...]:
        """The same with all chunks that are deleted; gives their keys."""
        ...

    def clear(self, origin: str) -> None:
        """Remove all chunks, vectors, windows, journals, notes and the tree, as thoroughly as `forget` does.

        What was given out stays so: turns and positions go on, and what was forgotten stays forgotten. But records
        that were cleared may be restored. The log stays, and says it.
        """
        ...

    def audit(self, after: int = 0, limit: int = 1000) -> list[AuditEntry]:
        """Up to `limit` entries with a number above `after`, in order of time."""
        ...

    def put_vectors(
        self, embedder: str, vectors: Mapping[int, NDArray[np.floating[Any]]], *, as_of: int | None = None
    ) -> list[int]:
        """Keep these vectors by chunk id, in place of the embedder's earlier ones; gives the ids that were kept.

        Vectors are float16 or float32, of one type and length per embedder. Left out are chunks that are deleted,
        merged away or forgotten, and those that changed after the change number `as_of`, at which their texts were
        read.
        """
        ...

    def vectors_since(self, embedder: str, change_number: int, limit: int = 10_000) -> VectorChanges:
        """The next up to `limit` changes after `change_number`; none if there are no `ids` and no `removed`."""
        ...

    def vectors_by_ids(self, embedder: str, ids: Sequence[int]) -> tuple[NDArray[np.int64], VectorMatrix]:
        """Those of `ids` that have a vector, in the order given, and a row for each."""
        ...

    def ids_without_vector(self, embedder: str, after: int = 0, limit: int = 1000) -> list[int]:
        """Ids above `after` of chunks that are neither deleted nor merged away and lack the embedder's vector."""
        ...

    def outdate_vectors(self, ids: Sequence[int]) -> None:
        """Remove these chunks' vectors, also from copies in snapshots, because what they are embedded with has changed.

        Vectors of texts that were read before, see `as_of`, are not kept any more.
        """
        ...

    def drop_vectors(self, embedder: str) -> int:
        """Remove all vectors of an embedder, and say how many. InputError if it is the one that serves."""
        ...

    def serving_embedder(self) -> str | None:
        """Whose vectors the search uses. Ask before each search and each embedding: another process may change it."""
        ...

    def serve_embedder(self, name: str, *, even_if_incomplete: bool = False) -> None:
        """Let the search use another embedder's vectors from now on.

        InputError, and no change, if another one serves and a chunk lacks the new vector in this moment: embed what
        `ids_without_vector` names, and ask again. A chunk that a process embeds for the old one even afterwards is
        named there too.
        """
        ...

    def search_words(self, terms: Sequence[str], limit: int, *, among: Sequence[int] | None = None) -> list[WordMatch]:
        """Chunks with any of the terms, best first. Any text is a term; one of several words is a phrase.

        With `among` only these ids are looked for; what a term is worth still depends on all chunks.
        """
        ...

    def count_words(self, terms: Sequence[str]) -> WordCounts:
        """How many chunks have each of the terms. Cheaper than searching for them."""
        ...

    def word_places(self, terms: Sequence[str], ids: NDArray[np.int64]) -> WordPlaces:
        """How often each of the terms stands in each of these chunks, and how far it is spread. Ids ascend; those of
        chunks that cannot be found have nothing. A term of several words is like the rarest of them."""
        ...

    def change_number(self) -> int:
        """Grows with every change of chunks and vectors, in any process; reservations change neither."""
        ...

    def stats(self) -> Stats: ...

    def backup(self, path: Path) -> None:
        """A whole and consistent copy at a path where nothing is yet, while others go on reading and writing."""
        ...

    def check(self) -> list[str]:
        """What is wrong with the file and its counters, a sentence each; `verify` reads every record as well."""
        ...

    def verify(self) -> list[str]:
        """Everything that is wrong, a sentence each. Reads the whole memory, while others go on reading and writing."""
        ...

    def repair(self, *, dry_run: bool = False) -> Repaired:
        """Set damaged rows aside and make again what follows from others; `verify` finds nothing afterwards.

        All in one transaction. StoreDamaged, and no change, if more is damaged than rows.
        """
        ...

    def set_aside(self) -> list[SetAside]:
        """What repairs have taken out, in their order."""
        ...

    def repaired_copy(self) -> AbstractContextManager[tuple["Store", Repaired]]:
        """A copy without what is damaged, gone in the end. The memory itself stays as it is."""
        ...

    def close(self) -> None: ...
