"""How living chunks become the tokens that the model sees.

Each turn is framed by the model's chat template. Frames are no part of the memory; they get places of their own between
the positions, so that they need no room there: a turn that begins at position p has the places from p * SPACING on,
its words in the upper half. A place depends on the turn alone, neither on what else lives nor on how the turn is cut
into chunks; so whatever stays keeps its place, and the engine has nothing to read again.
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
"""Tokens of another tokenizer may be more than the positions that they stand for."""


class Frames(Protocol):
    """The tokens that stand around words."""

    @property
    def beginning(self) -> Sequence[Token]:
        """The template's start and the system prompt."""
        ...

    def opening(self, role: Role, time: datetime, *, follows_gap: bool) -> Sequence[Token]: ...

    def closing(self, role: Role, time: datetime, *, follows_gap: bool = False) -> Sequence[Token]: ...


class Span(NamedTuple):
    """Where a chunk's tokens stand in the layout."""

    chunk: LiveChunk
    start: int
    end: int


class OpenTurn(NamedTuple):
    """The turn that the model is about to write, or to write on."""

    turn: TurnKey
    turn_start: int
    time: datetime


class Layout(NamedTuple):
    """`spread` is the distance of places between two positions of the open turn."""

    placed: list[Placed]
    spans: list[Span]
    spread: int = 1

    def scored(self, current: Collection[TurnKey]) -> NDArray[np.bool_]:
        """Which tokens are scored: all of chunks but those of `current` turns."""
        scored = np.zeros(len(self.placed), dtype=bool)
        for chunk, start, end in self.spans:
            scored[start:end] = chunk.turn not in current
        return scored

    def place_of(self, opened: OpenTurn, position: int) -> int:
        """The place of a new word of the open turn."""
        return _base(opened.turn_start) + (position - opened.turn_start) * self.spread


def lay_out(
    chunks: Iterable[LiveChunk], frames: Frames, *, gap: timedelta | None = None, opened: OpenTurn | None = None
) -> Layout:
    """The whole context in order; `chunks` come in order.

    An `opened` turn stands last and stays open: what was said after it, in another window, is left out.
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


def size_of(chunks: Iterable[LiveChunk], frames: Frames, *, gap: timedelta | None = None) -> int:
    """How many tokens `lay_out` would give."""
    return len(frames.beginning) + sum(
        len(opening) + sum(len(chunk.tokens) for chunk in members) + len(closing)
        for _, members, opening, closing in _turns(chunks, frames, gap)
    )


def _turns(
    chunks: Iterable[LiveChunk], frames: Frames, gap: timedelta | None
) -> Iterator[tuple[TurnKey, list[LiveChunk], Sequence[Token], Sequence[Token]]]:
    """What lives of each turn, what opens and what closes it."""
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
