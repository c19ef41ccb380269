"""The memory at rest: one record of everything said, for all windows, threads and processes.

Every call is one transaction: it happens wholly or not at all, and others see it only once it is done. What was
acknowledged survives a crash of the process and of the machine. A store may be used from several threads at once.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from halo_weave.memory.records import (
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
)

FIRST_TURN = 1
"""Turn 0 is left to what a window says for itself, its system prompt."""
FIRST_POSITION = 0


class Store(Protocol):
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

    def chunks_by_ids(self, ids: Sequence[int]) -> list[Stored]:
        """In the order of `ids`; those that are not there or were merged away are left out."""
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
        self, records: Iterable[Record], audit: Iterable[AuditEntry], *, next_turn: int, next_position: int
    ) -> None:
        """Advance, and write records of another memory as they were there, all or none.

        What was merged away comes behind what it was merged into. Of the entries those are kept that are about a
        record written here; they get new numbers in their order. StoreConflict if a key or a position is taken.
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

    def audit(self, after: int = 0, limit: int = 1000) -> list[AuditEntry]:
        """Up to `limit` entries with a number above `after`, in order of time."""
        ...

    def put_vectors(
        self, embedder: str, vectors: Mapping[int, NDArray[np.floating[Any]]], *, as_of: int | None = None
    ) -> list[int]:
        """Keep these vectors by chunk id, in place of the embedder's earlier ones; gives the ids that were kept.

        Vectors are float16 or float32, of one type and length per embedder. Left out are chunks that are deleted or
        merged away, and those that changed after the change number `as_of`, at which their texts were read.
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

    def search_words(self, terms: Sequence[str], limit: int) -> list[WordMatch]:
        """Chunks with any of the terms, best first. Any text is a term; one of several words is a phrase."""
        ...

    def change_number(self) -> int:
        """Grows with every change of chunks and vectors, in any process; reservations change neither."""
        ...

    def stats(self) -> Stats: ...

    def backup(self, path: Path) -> None:
        """A whole and consistent copy at a path where nothing is yet, while others go on reading and writing."""
        ...

    def verify(self) -> list[str]:
        """Everything that is wrong, a sentence each. Reads the whole memory, while others go on reading and writing."""
        ...

    def close(self) -> None: ...
