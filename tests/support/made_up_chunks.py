"""Chunks for tests of the memory. Their content follows from their key, so any process can check it."""

import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from halo_weave.memory.store.protocol import Store
from halo_weave.records.chunks import Chunk, ChunkKey
from halo_weave.records.roles import Role
from halo_weave.records.tokens import Token

TIME = datetime(2026, 5, 17, 12, 30, 15, 123456, tzinfo=UTC)
PIECES = (" sea", " light", "", " Grüße", "世", " owl🦉", "\n\n", " running", ' "quoted"', "\0", " AND")


def ticking_clock() -> Callable[[], datetime]:
    """Return a clock that advances by one second per call."""
    seconds = itertools.count()
    return lambda: TIME + timedelta(seconds=next(seconds), microseconds=1)


def made_up_tokens(key: ChunkKey, count: int) -> list[Token]:
    start = key.turn * 7 + key.index * 3 + len(key.role)
    return [Token((start + place) * 37 % 150_000, PIECES[(start + place) % len(PIECES)]) for place in range(count)]


def made_up_chunk(
    turn: int,
    index: int = 0,
    role: Role = "user",
    *,
    first: int,
    count: int = 5,
    metadata: dict[str, Any] | None = None,
) -> Chunk:
    key = ChunkKey(turn, index, role)
    time = TIME + timedelta(microseconds=turn % 1_000_000)
    return Chunk.of_tokens(key, made_up_tokens(key, count), first_position=first, time=time, metadata=metadata)


def text_chunk(turn: int, text: str, *, first: int, index: int = 0) -> Chunk:
    """Return a chunk with one token per word."""
    words = [word for word in text.replace(" ", "\0 ").split("\0") if word]
    tokens = [Token(place, word) for place, word in enumerate(words)]
    return Chunk.of_tokens(ChunkKey(turn, index, "user"), tokens, first_position=first, time=TIME)


def written_turn(store: Store, chunks: int = 1, count: int = 5) -> list[Chunk]:
    """Reserve and write a user's turn of this many chunks without gaps."""
    reservation = store.reserve(chunks * count)
    made = [
        made_up_chunk(reservation.turn_user, index, first=reservation.position_start + index * count, count=count)
        for index in range(chunks)
    ]
    store.write_chunks(made)
    return made


def written_texts(store: Store, *texts: str) -> list[int]:
    """Write a turn for each text; return the chunks' ids."""
    ids = []
    for text in texts:
        reservation = store.reserve(1000)
        ids += store.write_chunks([text_chunk(reservation.turn_user, text, first=reservation.position_start)])
    return ids
