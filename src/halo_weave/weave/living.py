"""A chunk as the planners see it, living or not."""

from collections.abc import Iterable
from typing import NamedTuple

from halo_weave.records.chunks import ChunkKey
from halo_weave.records.roles import Role

ANCHOR = 0
"""The index of a turn's first chunk. The turn's other chunks never live without it."""


class TurnKey(NamedTuple):
    turn: int
    role: Role


class LivingChunk(NamedTuple):
    """`tokens` counts the chunk's own tokens; `frame` counts those that open and close its turn, once per turn.

    `need` is the probability that the reply to the present message needs the chunk, as the search says; 0 without a
    message. `recency` is the same because the chunk was said, or returned, just now. Among chunks of equal recency,
    pruning ranks by `worth`, or by peak brightness if `worth` is None.
    """

    key: ChunkKey
    first_position: int
    tokens: int
    frame: int
    peak: float
    is_pinned: bool = False
    is_current: bool = False
    worth: float | None = None
    recency: float = 0.0
    need: float = 0.0

    @property
    def value(self) -> float:
        """The probability that the reply needs the chunk, for either reason."""
        return 1 - (1 - self.need) * (1 - self.recency)

    @property
    def standing(self) -> tuple[float, float]:
        """The sort key for pruning: the lowest leaves first."""
        return self.recency, self.peak if self.worth is None else self.worth

    @property
    def turn(self) -> TurnKey:
        return turn_of(self.key)


def turn_of(key: ChunkKey) -> TurnKey:
    return TurnKey(key.turn, key.role)


def tokens_in_all(chunks: Iterable[LivingChunk]) -> int:
    """The total size of the chunks, with each turn's frame counted once."""
    chunks = list(chunks)
    frames = {chunk.turn: chunk.frame for chunk in chunks}
    return sum(chunk.tokens for chunk in chunks) + sum(frames.values())
