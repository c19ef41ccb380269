"""Turns the living chunks into the tokens that the model sees.

The model's chat template frames each turn. Frames are not part of the memory, so their places lie between positions and
use up none: a turn that starts at position p has the places from (p + 1) * SPACING, with its words in the upper half.
A place depends only on the turn, not on other living chunks or on how the turn is cut into chunks. Text that stays in
context therefore keeps its place, and the engine need not read it again.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from halo_weave.engine.protocol import Placed
from halo_weave.records.roles import Role
from halo_weave.records.tokens import Token
from halo_weave.weave.context import LiveChunk
from halo_weave.weave.living import TurnKey

SPACING = 2**64
_TO_CLOSING = SPACING // 2 - 2**16
_FOREIGN_SPREAD = 2**10
"""Another tokenizer's text may need more tokens than it has positions, so its positions are spaced further apart."""


class Frames(Protocol):
    """The tokens around the words of a turn."""

    @property
    def beginning(self) -> Sequence[Token]:
        """The template's start and the system prompt."""
        ...

    def opening(self, role: Role, time: datetime, *, follows_gap: bool) -> Sequence[Token]: ...

    def closing(self, role: Role, time: datetime, *, follows_gap: bool = False) -> Sequence[Token]: ...


class Span(NamedTuple):
    """The range of a chunk's tokens in the layout."""

    chunk: LiveChunk
    start: int
    end: int


class OpenTurn(NamedTuple):
    """The turn that the model is about to write or continue."""

    turn: TurnKey
    turn_start: int
    time: datetime


class Layout(NamedTuple):
    """`spread` is the number of places per position in the open turn."""

    placed: list[Placed]
    spans: list[Span]
    spread: int = 1

    def scored(self, current: Collection[TurnKey]) -> NDArray[np.bool_]:
        """A mask of the scored tokens: those of all chunks, except chunks of `current` turns."""
        scored = np.zeros(len(self.placed), dtype=bool)
        for chunk, start, end in self.spans:
            scored[start:end] = chunk.turn not in current
        return scored

    def place_of(self, opened: OpenTurn, position: int) -> int:
        """The place of a new word in the open turn."""
        return _base(opened.turn_start) + (position - opened.turn_start) * self.spread


def lay_out(
    chunks: Iterable[LiveChunk], frames: Frames, *, gap: timedelta | None = None, opened: OpenTurn | None = None
) -> Layout:
    """The whole context in order; `chunks` must be in order.

    An `opened` turn comes last and is not closed. Later turns, which come from other windows, are left out.
    """
    layout = Layout([Placed(place, token.id) for place, token in enumerate(frames.beginning)], [])
    for turn, members, opening, closing in _turns(chunks, frames, gap):
        if opened is not None and turn != opened.turn and members[0].turn_start > opened.turn_start:
            break
        spread = _spread(members)
        start = _open(layout, members[0].turn_start, opening)
        for chunk in members:
            _put(layout, chunk, start + (chunk.first_position - chunk.turn_start) * spread)
        if opened is not None and opened.turn == turn:
            return layout._replace(spread=spread)
        layout.placed.extend(_run(start + _TO_CLOSING, closing))
    if opened is not None:
        opening = frames.opening(opened.turn.role, opened.time, follows_gap=False)
        _open(layout, opened.turn_start, opening)
    return layout


def place_of_chunk(first_position: int, turn_start: int, *, is_foreign: bool) -> int:
    """The place that the first token of a chunk has in every layout, unless another chunk of its turn is foreign."""
    return _base(turn_start) + (first_position - turn_start) * (_FOREIGN_SPREAD if is_foreign else 1)


def size_of(chunks: Iterable[LiveChunk], frames: Frames, *, gap: timedelta | None = None) -> int:
    """The number of tokens that `lay_out` would return."""
    return len(frames.beginning) + sum(
        len(opening) + sum(len(chunk.tokens) for chunk in members) + len(closing)
        for _, members, opening, closing in _turns(chunks, frames, gap)
    )


def _turns(
    chunks: Iterable[LiveChunk], frames: Frames, gap: timedelta | None
) -> Iterator[tuple[TurnKey, list[LiveChunk], Sequence[Token], Sequence[Token]]]:
    """Each turn with its living chunks, its opening and its closing."""
    previous: datetime | None = None
    for turn, group in groupby(chunks, key=lambda chunk: chunk.turn):
        members = list(group)
        time = members[0].time
        follows_gap = _is_gap(previous, time, gap)
        opening = frames.opening(turn.role, time, follows_gap=follows_gap)
        yield turn, members, opening, frames.closing(turn.role, time, follows_gap=follows_gap)
        previous = members[-1].time


def _open(layout: Layout, turn_start: int, opening: Sequence[Token]) -> int:
    start = _base(turn_start)
    layout.placed.extend(_run(start - len(opening), opening))
    return start


def _put(layout: Layout, chunk: LiveChunk, first: int) -> None:
    begin = len(layout.placed)
    layout.placed.extend(_run(first, chunk.tokens))
    layout.spans.append(Span(chunk, begin, len(layout.placed)))


def _run(first: int, tokens: Sequence[Token]) -> Iterator[Placed]:
    return (Placed(place, token.id) for place, token in enumerate(tokens, first))


def _base(turn_start: int) -> int:
    """The place of a turn's first word."""
    return (turn_start + 1) * SPACING + SPACING // 2


def _spread(members: Sequence[LiveChunk]) -> int:
    return _FOREIGN_SPREAD if any(chunk.is_foreign for chunk in members) else 1


def _is_gap(previous: datetime | None, time: datetime, gap: timedelta | None) -> bool:
    return gap is not None and previous is not None and abs(time - previous) >= gap
