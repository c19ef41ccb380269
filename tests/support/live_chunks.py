"""Made-up living chunks for rules that need no memory."""

from datetime import UTC, datetime, timedelta

import numpy as np
from hypothesis import strategies as st

from halo_weave.records.chunks import ChunkKey
from halo_weave.records.roles import Role
from halo_weave.records.tokens import Token
from halo_weave.weave.context import Context, LiveChunk

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
LONGEST_JUMP = 2**40
"""Largest gap between two chunks of one turn: what other windows may reserve before the turn is continued."""


def live_chunk(
    turn: int,
    index: int,
    role: Role = "user",
    *,
    first: int,
    count: int = 3,
    turn_start: int | None = None,
    time: datetime = BEGIN,
    foreign_tokens: int | None = None,
) -> LiveChunk:
    """`foreign_tokens` is how many tokens another tokenizer needs for the `count` stored tokens."""
    texts = [f"w{first + place} " for place in range(count if foreign_tokens is None else foreign_tokens)]
    return LiveChunk(
        key=ChunkKey(turn, index, role),
        first_position=first,
        end_position=first + count,
        turn_start=first if turn_start is None else turn_start,
        time=time,
        tokens=[Token(1000 + place, text) for place, text in enumerate(texts)],
        state=np.full((1, len(texts)), 10_000.0, dtype=np.float32),
        is_foreign=foreign_tokens is not None,
    )


@st.composite
def conversations(draw: st.DrawFn) -> list[LiveChunk]:
    """Draw all chunks of some turns, starting at any position; the parts of a turn may be far apart."""
    position = draw(st.integers(0, 2**70))
    turn = draw(st.integers(1, 2**70))
    time = BEGIN
    chunks: list[LiveChunk] = []
    pending: list[tuple[int, int, int, Role, datetime]] = []
    for number in range(draw(st.integers(1, 5))):
        role: Role = "assistant" if number % 2 else "user"
        time += timedelta(hours=draw(st.sampled_from([0, 1, 100, 5000])))
        start = position
        for index in range(draw(st.integers(1, 3))):
            count = draw(st.integers(1, 4))
            foreign = draw(st.none() | st.integers(1, 50))
            chunks.append(
                live_chunk(
                    turn + number,
                    index,
                    role,
                    first=position,
                    count=count,
                    turn_start=start,
                    time=time,
                    foreign_tokens=foreign,
                )
            )
            position += count
        if draw(st.booleans()):
            pending.append((turn + number, index + 1, start, role, time))
    position += draw(st.integers(0, LONGEST_JUMP))
    for continued, index, start, role, time in pending:  # a reply that was continued after later turns
        chunks.append(live_chunk(continued, index, role, first=position, count=2, turn_start=start, time=time))
        position += 2
    return chunks


def in_order(chunks: list[LiveChunk]) -> list[LiveChunk]:
    return list(Context(chunks))
