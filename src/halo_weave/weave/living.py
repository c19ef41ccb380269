"""A chunk as planning sees it, alive in a window or not."""

from collections.abc import Iterable
from typing import NamedTuple

from halo_weave.records.chunks import ChunkKey
from halo_weave.records.roles import Role

ANCHOR = 0
"""The index of a turn's first chunk, which its other chunks never live without."""


class TurnKey(NamedTuple):
    turn: int
    role: Role


class LivingChunk(NamedTuple):
    """`tokens` are the chunk's own; `frame` are those that open and close its turn and stand there once per turn.

    `worth` is what pruning goes by; without it, it goes by the peak brightness. What `is_recent` leaves after all else.
    """

    key: ChunkKey
    first_position: int
    tokens: int
    frame: int
    peak: float
    is_pinned: bool = False
    is_current: bool = False
    worth: float | None = None
    is_recent: bool = False

    @property
    def standing(self) -> tuple[bool, float]:
        """The chunk with the lowest leaves first."""
        return self.is_recent, self.peak if self.worth is None else self.worth

    @property
    def turn(self) -> TurnKey:
        return turn_of(self.key)


def turn_of(key: ChunkKey) -> TurnKey:
    return TurnKey(key.turn, key.role)


def tokens_in_all(chunks: Iterable[LivingChunk]) -> int:
    """What chunks take up together, each turn's frame counted once."""
    chunks = list(chunks)
    frames = {chunk.turn: chunk.frame for chunk in chunks}
    return sum(chunk.tokens for chunk in chunks) + sum(frames.values())
