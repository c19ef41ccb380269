"""Prepares words for the memory: assigns positions to tokens and cuts them into chunks."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from halo_weave.memory.memory import Memory
from halo_weave.records.chunks import Chunk, ChunkKey
from halo_weave.records.tokens import Token
from halo_weave.text.chunking import chunks_of
from halo_weave.weave.living import TurnKey

_RESERVED_AT_ONCE = 512


class ChunkSizes(NamedTuple):
    """The limits for cutting turns into chunks; see `text.chunking`."""

    min_tokens: int
    max_tokens: int


class Word(NamedTuple):
    """A token of a turn at its position."""

    position: int
    id: int
    text: str


class Positions:
    """The positions of a turn. When the reserved ones are used up, more are reserved."""

    def __init__(self, memory: Memory, first: int, end: int) -> None:
        self._memory = memory
        self._ranges = [range(first, end)]

    def at(self, place: int) -> int:
        for reserved in self._ranges:
            if place < len(reserved):
                return reserved[place]
            place -= len(reserved)
        more = self._memory.reserve(max(_RESERVED_AT_ONCE, place + 1))
        self._ranges.append(range(more.position_start, more.position_end))
        return self._ranges[-1][place]

    def rest(self, used: int) -> tuple[int, int]:
        """The unused part, as first and end, of the range that contains number `used`."""
        for reserved in self._ranges:
            if used < len(reserved):
                return reserved[used], reserved.stop
            used -= len(reserved)
        return self._ranges[-1].stop, self._ranges[-1].stop


def placed(tokens: Sequence[Token], positions: Positions) -> list[Word]:
    return [Word(positions.at(place), token.id, token.text) for place, token in enumerate(tokens)]


def cut(
    words: Sequence[Word],
    turn: TurnKey,
    *,
    first_index: int,
    time: datetime,
    metadata: Mapping[str, Any],
    sizes: ChunkSizes,
) -> list[Chunk]:
    """Cut words into chunks; a jump in the positions starts a new chunk."""
    chunks: list[Chunk] = []
    for run in _runs(words):
        for piece in chunks_of(run, min_tokens=sizes.min_tokens, max_tokens=sizes.max_tokens):
            key = ChunkKey(turn.turn, first_index + len(chunks), turn.role)
            tokens = [Token(word.id, word.text) for word in piece]
            chunks.append(
                Chunk.of_tokens(key, tokens, first_position=piece[0].position, time=time, metadata=dict(metadata))
            )
    return chunks


def _runs(words: Sequence[Word]) -> list[list[Word]]:
    runs: list[list[Word]] = []
    for word in words:
        if runs and runs[-1][-1].position + 1 == word.position:
            runs[-1].append(word)
        else:
            runs.append([word])
    return runs
