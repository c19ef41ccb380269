"""The vector methods of the store: one set of vectors per embedder, one of which serves."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halo_weave.memory.sqlite import settings
from halo_weave.memory.sqlite import vectors as sqlite_vectors
from halo_weave.memory.sqlite.chunks import mark_changed
from halo_weave.memory.sqlite.counters import read_counters, set_change
from halo_weave.memory.sqlite.database import Database
from halo_weave.memory.sqlite.tree import snapshots
from halo_weave.records.chunks import VectorChanges, VectorMatrix


class SqliteVectors:
    _database: Database

    def put_vectors(
        self, embedder: str, vectors: Mapping[int, NDArray[np.floating[Any]]], *, as_of: int | None = None
    ) -> list[int]:
        if not vectors:
            return []
        with self._database.writing() as connection:
            change = read_counters(connection).change
            kept = sqlite_vectors.put(connection, embedder, vectors, change, as_of)
            set_change(connection, change + len(kept))
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

    def outdate_vectors(self, ids: Sequence[int]) -> None:
        if not ids:
            return
        with self._database.writing() as connection:
            change = read_counters(connection).change + 1
            mark_changed(connection, ids, change)
            for chunk_id in ids:
                change = sqlite_vectors.remove(connection, chunk_id, change)
            snapshots.outdate(connection, ids)
            set_change(connection, change)

    def drop_vectors(self, embedder: str) -> int:
        with self._database.writing() as connection:
            settings.require_not_serving(connection, embedder)
            change = read_counters(connection).change
            dropped = sqlite_vectors.drop(connection, embedder, change)
            set_change(connection, change + dropped)
        return dropped

    def serving_embedder(self) -> str | None:
        with self._database.reading() as connection:
            return settings.serving_embedder(connection)

    def serve_embedder(self, name: str, *, even_if_incomplete: bool = False) -> None:
        with self._database.writing() as connection:
            settings.serve_embedder(connection, name, even_if_incomplete=even_if_incomplete)
