"""Writes the words of a reply to the memory and turns them into living chunks."""

from collections.abc import Mapping, Sequence
from typing import Any

from halo_weave.session.turn.turn_state import TurnState
from halo_weave.session.window.words import ChunkSizes, Word, cut
from halo_weave.weave.brightness.protocol import State
from halo_weave.weave.context import LiveChunk


def write_alive(
    turn: TurnState,
    words: Sequence[Word],
    marks: Mapping[str, Any],
    *,
    earned: State | None = None,
    sizes: ChunkSizes | None = None,
) -> list[LiveChunk]:
    """Living chunks that are in the memory when this returns; `earned` is the brightness state of their tokens."""
    window = turn.window
    # Another process may have opened this window in the meantime, taken the reply for interrupted, and written the
    # journalled part of it.
    answer = [entry.chunk for entry in window.memory.chunks_of_turn(turn.assistant.turn)]
    taken = {position for chunk in answer for position in range(chunk.first_position, chunk.end_position)}
    chunks = cut(
        [word for word in words if word.position not in taken],
        turn.assistant,
        first_index=window.memory.next_index(*turn.assistant),
        time=turn.time,
        metadata=turn.metadata(marks),
        sizes=sizes or window.sizes,
    )
    if chunks:
        window.write(chunks)
    places = {word.position: place for place, word in enumerate(words)}
    living = []
    for chunk in chunks:
        start = places[chunk.first_position]
        state = None if earned is None else earned[:, start : start + chunk.token_count]
        living.append(window.life.reviver.fresh(chunk, chunk.tokens(), state))
    return living
