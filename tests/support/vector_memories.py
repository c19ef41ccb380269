"""Memories of many small chunks with made-up vectors, for tests of the vector index."""

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

from halo_weave.memory.store.protocol import Store
from halo_weave.records.chunks import Chunk, ChunkKey
from halo_weave.records.tokens import Token

EMBEDDER = "made-up"
TIME = datetime(2026, 3, 1, tzinfo=UTC)


def clustered(count: int, dimensions: int, seed: int, clusters: int = 100) -> NDArray[np.float32]:
    """Return unit vectors around centres that do not depend on the seed, as text embeddings cluster around topics."""
    centres = np.random.default_rng(0).standard_normal((clusters, dimensions))
    random = np.random.default_rng(seed)
    vectors = centres[random.integers(clusters, size=count)] + 0.7 * random.standard_normal((count, dimensions))
    unit: NDArray[np.float32] = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return unit


def write_vectors(store: Store, vectors: NDArray[np.float32]) -> list[int]:
    """Write a chunk of one token for each vector, all in one turn."""
    reservation = store.reserve(len(vectors))
    chunks = [
        Chunk.of_tokens(
            ChunkKey(reservation.turn_user, place, "user"),
            [Token(1, "x")],
            first_position=reservation.position_start + place,
            time=TIME,
        )
        for place in range(len(vectors))
    ]
    ids = store.write_chunks(chunks)
    store.put_vectors(EMBEDDER, dict(zip(ids, vectors, strict=True)))
    return ids


def delete_ids(store: Store, ids: Sequence[int]) -> None:
    store.delete([stored.chunk.key for stored in store.chunks_by_ids(ids)], "test")
