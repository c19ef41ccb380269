"""Chunks as plain values, for events and states. Unbounded numbers are decimal text."""

from typing import Any

from halo_weave.records.chunks import Chunk, ChunkKey
from halo_weave.records.numbers import text_of_number
from halo_weave.weave.context import LiveChunk


def key_to_json(key: ChunkKey) -> dict[str, Any]:
    return {"turn": text_of_number(key.turn), "chunk": key.index, "role": key.role}


def chunk_to_json(chunk: LiveChunk) -> dict[str, Any]:
    return {
        "key": key_to_json(chunk.key),
        "position": text_of_number(chunk.first_position),
        "time": chunk.time.isoformat(),
        "pieces": [token.text for token in chunk.tokens],
        "brightness": [round(value) for value in chunk.brightness.tolist()],
        "peak": round(chunk.peak),
        "is_pinned": chunk.is_pinned,
        "is_foreign": chunk.is_foreign,
        "window": chunk.window,
        "returned": chunk.returned,
        "looked_at": list(chunk.looked_at),
        "marks": dict(chunk.marks),
    }


def stored_chunk_to_json(chunk: Chunk) -> dict[str, Any]:
    """A chunk that is not living."""
    return {
        "key": key_to_json(chunk.key),
        "position": text_of_number(chunk.first_position),
        "time": chunk.time.isoformat(),
        "text": chunk.text,
        "tokens": chunk.token_count,
        "is_deleted": chunk.deleted,
    }
