"""The living context of one window: chunks in order of position, each with the brightness state of its tokens."""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halo_weave.records.chunks import ChunkKey, Span
from halo_weave.records.tokens import Token
from halo_weave.weave.brightness.protocol import NEW_BRIGHTNESS, State
from halo_weave.weave.living import TurnKey, turn_of


class ReturnVisit(NamedTuple):
    """The number of the message for which a chunk returned, how likely it was needed, and its peak brightness then."""

    message: int
    need: float
    peak: float


@dataclass(slots=True)
class LiveChunk:
    """A chunk in the context of a window.

    `tokens` are those of the model in use. They differ from the stored tokens if the chunk was written with another
    tokenizer (`is_foreign`). `turn_start` is the first position of the chunk's turn.
    """

    key: ChunkKey
    first_position: int
    end_position: int
    turn_start: int
    time: datetime
    tokens: list[Token]
    state: State
    is_foreign: bool = False
    is_pinned: bool = False
    returned: str = ""
    """Why the chunk returned from the graveyard; empty if it never left."""
    looked_at: tuple[Span, ...] = ()
    """The words that the message looked at for which the chunk returned; empty if they are not known."""
    return_visit: "ReturnVisit | None" = None
    """The circumstances of a return for a message; None once the window was reloaded."""
    marks: Mapping[str, Any] = field(default_factory=dict)
    """Metadata other than the window and the model, such as how a reply ended."""
    window: str = ""
    """The id of the window that wrote the chunk; empty if none did, as with imported text."""

    @property
    def turn(self) -> TurnKey:
        return turn_of(self.key)

    @property
    def text(self) -> str:
        return "".join(token.text for token in self.tokens)

    @property
    def brightness(self) -> NDArray[np.float32]:
        row: NDArray[np.float32] = self.state[0]
        return row

    @property
    def peak(self) -> float:
        return float(self.brightness.max())

    def shine(self, brightness: float) -> None:
        self.state[0] = brightness


class Context:
    """The living chunks, by key and in order of position.

    The chunks of a turn stay together, even if the turn was continued at positions after those of another turn.
    """

    def __init__(self, chunks: Iterable[LiveChunk] = ()) -> None:
        self._by_key: dict[ChunkKey, LiveChunk] = {}
        self._order: list[tuple[int, int, ChunkKey]] = []
        for chunk in chunks:
            self.add(chunk)

    def __len__(self) -> int:
        return len(self._by_key)

    def __iter__(self) -> Iterator[LiveChunk]:
        return (self._by_key[key] for _, _, key in self._order)

    def __contains__(self, key: ChunkKey) -> bool:
        return key in self._by_key

    def __getitem__(self, key: ChunkKey) -> LiveChunk:
        return self._by_key[key]

    def keys(self) -> frozenset[ChunkKey]:
        return frozenset(self._by_key)

    def add(self, chunk: LiveChunk) -> None:
        if chunk.key in self._by_key:
            raise ValueError(f"Chunk {chunk.key} is already in context.")
        self._by_key[chunk.key] = chunk
        insort(self._order, _place(chunk))

    def remove(self, key: ChunkKey) -> LiveChunk:
        chunk = self._by_key.pop(key)
        del self._order[bisect_left(self._order, _place(chunk))]
        return chunk

    def of_turn(self, turn: TurnKey) -> list[LiveChunk]:
        return [chunk for chunk in self if chunk.turn == turn]

    def mean_brightness(self) -> float:
        """The mean over all living tokens, or the brightness of new tokens if there are none."""
        tokens = sum(len(chunk.tokens) for chunk in self)
        return (
            sum(float(chunk.brightness.sum(dtype=np.float64)) for chunk in self) / tokens if tokens else NEW_BRIGHTNESS
        )


def _place(chunk: LiveChunk) -> tuple[int, int, ChunkKey]:
    return chunk.turn_start, chunk.first_position, chunk.key
