"""Contexts without a window: search results alone, and as a ceiling everything that fits around the evidence."""

from collections.abc import Collection, Iterator, Sequence
from datetime import timedelta
from itertools import takewhile
from typing import NamedTuple, Self

from halo_weave.bench.policies.stream import AskedQuestion, StreamedChat, StreamMemory
from halo_weave.bench.policies.window import Keeping, PolicyWindow, exchanges
from halo_weave.engine.protocol import Placed
from halo_weave.records.chunks import ChunkKey, utc_now
from halo_weave.records.tokens import Token
from halo_weave.session.turn.recalling import FOUND_AT_MOST
from halo_weave.session.window.window import Window
from halo_weave.weave.context import Context, LiveChunk
from halo_weave.weave.layout import Layout, lay_out

NOTHING_LIVES = Keeping("newest", returns=True, is_restrained=False)
"""For a window that no chat has passed through: it holds only what returns."""


class Situation(NamedTuple):
    """The context before a question: its tokens, the chunks among them, and whether they open the question's turn."""

    placed: list[Placed]
    keys: frozenset[ChunkKey]
    opens_turn: bool = False

    @classmethod
    def of(cls, layout: Layout) -> Self:
        return cls(layout.placed, frozenset(span.chunk.key for span in layout.spans))


def in_order_of_time(empty: PolicyWindow, text: str) -> Situation:
    """Return what our own resurrection brings back into an empty context with the whole budget."""
    with empty.asked(text) as layout:
        return Situation.of(layout)


def appended(window: Window, memory: StreamMemory, text: str, budget: int) -> Situation:
    """Put the chunks that search finds, best first, into the user's message before the question."""
    frames, separator = window.life.frames, window.engine.tokenize("\n")
    tokens: list[Token] = [*frames.beginning, *frames.opening("user", utc_now(), follows_gap=False)]
    keys: list[ChunkKey] = []
    for hit in memory.search(text, limit=FOUND_AT_MOST):
        piece = [*window.life.reviver.tokens(hit.chunk)[0], *separator]
        if len(tokens) + len(piece) <= budget:
            tokens += piece
            keys.append(hit.chunk.key)
    return Situation([Placed(place, token.id) for place, token in enumerate(tokens)], frozenset(keys), opens_turn=True)


def decoded_per_exchange(chat: StreamedChat, situations: Sequence[Situation], frame_tokens: int) -> float:
    """Return the cost of a chat whose context is rebuilt for each message; an unchanged beginning is not read again."""
    decoded, held = 0, list[int]()
    turns = list(exchanges(chat.tail))
    for (message, reply), situation in zip(turns, situations, strict=True):
        ids = [token.token_id for token in situation.placed]
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(held, ids, strict=False)))
        said = sum(chunk.token_count for one in (message, reply) if one is not None for chunk in one.chunks)
        decoded += len(ids) - same + said + frame_tokens
        held = ids
    return decoded / len(turns) if turns else 0.0


class Ceiling:
    """The whole conversation if it fits; otherwise the evidence and as many of the nearest turns as fit."""

    def __init__(self, window: Window, chat: StreamedChat) -> None:
        self._window = window
        self._turns = chat.turns
        hours = window.settings.weave.gap_marker_hours
        self._gap = timedelta(hours=hours) if hours else None
        stored = (window.memory.chunk(key) for turn in chat.turns for key in turn)
        alive = (window.life.reviver.alive(entry.chunk, brightness=0) for entry in stored if entry is not None)
        self._chunks = {chunk.key: chunk for chunk in alive}

    def around(self, asked: AskedQuestion, limit: int) -> Situation:
        frames = self._window.life.frames
        chosen: list[LiveChunk] = []
        left = limit - len(frames.beginning)
        for turn in _nearest_first(self._turns, asked.evidence):
            members = [self._chunks[key] for key in turn]
            cost = self._cost(members)
            if cost <= left:
                chosen += members
                left -= cost
            elif not asked.evidence.keys() & turn:
                break
        layout = lay_out(Context(chosen), frames, gap=self._gap)
        return Situation.of(layout)

    def _cost(self, members: Sequence[LiveChunk]) -> int:
        """Return an upper bound, as if the turn followed a gap and carried a date."""
        frames, role, time = self._window.life.frames, members[0].key.role, members[0].time
        framed = len(frames.opening(role, time, follows_gap=True)) + len(frames.closing(role, time, follows_gap=True))
        return framed + sum(len(chunk.tokens) for chunk in members)


def _nearest_first(turns: Sequence[list[ChunkKey]], evidence: Collection[ChunkKey]) -> Iterator[list[ChunkKey]]:
    places = [place for place, turn in enumerate(turns) if any(key in evidence for key in turn)]
    yield from (turns[p] for p in sorted(range(len(turns)), key=lambda p: min(abs(p - one) for one in places)))
