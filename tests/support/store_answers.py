"""Reads the results of store calls in tests."""

from typing import Any

import numpy as np

from halo_weave.records.chunks import Chunk, PlacedToken, Stored

EMBEDDER = "made-up"


def vector(*values: float) -> np.ndarray[Any, np.dtype[np.float16]]:
    return np.array(values, dtype=np.float16)


def chunks_of(stored: list[Stored]) -> list[Chunk]:
    return [one.chunk for one in stored]


def one(stored: Stored | None) -> Chunk:
    assert stored is not None
    return stored.chunk


def all_tokens(chunks: list[Chunk]) -> list[PlacedToken]:
    return [
        PlacedToken(chunk.first_position + place, token.id, token.text, chunk.key)
        for chunk in chunks
        for place, token in enumerate(chunk.tokens())
    ]
