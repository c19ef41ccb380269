"""What is said in an exchange, on its way into the memory and into what lives."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from halo_weave.engine.cancellation import Cancellation
from halo_weave.session.turn.replying import Figures
from halo_weave.session.window.reviving import metadata_of
from halo_weave.session.window.window import Window
from halo_weave.session.window.words import ChunkSizes, Word, cut
from halo_weave.weave.context import LiveChunk, State
from halo_weave.weave.living import TurnKey


@dataclass
class Exchange:
    """One that is under way. `said` is what the assistant has said so far, its tools included."""

    user: TurnKey
    assistant: TurnKey
    time: datetime
    marks: Mapping[str, Any]
    begun_at: float
    cancellation: Cancellation
    figures: Figures = field(default_factory=Figures)
    said: list[str] = field(default_factory=list)
    problem: str = ""
    """Why brightness did not change in some steps."""

    def left(self, window: Window) -> int:
        """Tokens that the model may still write."""
        return max(0, window.settings.generation.max_tokens - self.figures.generated)

    def reserved(self, window: Window) -> int:
        """Tokens that the rest of the reply may take up in the context, with its frame."""
        frames = window.life.frames
        opening = frames.opening("assistant", self.time, follows_gap=False)
        return self.left(window) + len(opening) + len(frames.closing("assistant", self.time))


def written_alive(
    window: Window,
    exchange: Exchange,
    words: Sequence[Word],
    marks: Mapping[str, Any],
    *,
    earned: State | None = None,
    sizes: ChunkSizes | None = None,
) -> list[LiveChunk]:
    """Words of the reply as chunks that are in the memory when this returns; with what their tokens have `earned`."""
    # Another process that opened this window meanwhile took it for cut off, and wrote what was noted down of it.
    answer = [entry.chunk for entry in window.memory.chunks_of_turn(exchange.assistant.turn)]
    taken = {position for chunk in answer for position in range(chunk.first_position, chunk.end_position)}
    chunks = cut(
        [word for word in words if word.position not in taken],
        exchange.assistant,
        first_index=window.memory.store.next_index(*exchange.assistant),
        time=exchange.time,
        metadata=metadata_of(window.id, window.engine.facts.name, marks),
        sizes=sizes or window.sizes,
    )
    if chunks:
        window.unembedded += window.memory.write(chunks)
    places = {word.position: place for place, word in enumerate(words)}
    living = []
    for chunk in chunks:
        start = places[chunk.first_position]
        state = None if earned is None else earned[:, start : start + chunk.token_count]
        living.append(window.life.reviver.fresh(chunk, chunk.tokens(), state))
    return living
