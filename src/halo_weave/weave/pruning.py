"""Which chunks leave a context that is over its budget; a plan only, with a reason for each.

The chunk that is worth least leaves first, until the rest fits; by the settings that is what `worth` says, or the peak
brightness alone. Of equals the older one leaves first: it had more time to shine, and what was said last is what is
talked about. For that reason too, what is recent leaves only when nothing else may.

What is pinned or part of the current turn stays. The anchors of an exchange, the first chunks of a question and of its
answer, stay while anything else of the exchange lives. Then they leave together or not at all, and the better of
them counts for both; if one is pinned or current, the other stays with it. An anchor whose partner does not live
leaves alone. Chunks of the system role belong to no exchange and have no anchor.
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import msgspec

from halo_weave.memory.records import ChunkKey
from halo_weave.weave.living import ANCHOR, LivingChunk, TurnKey, tokens_in_all

BurialCode = Literal["dimmest", "exchange", "last_anchor"]
_Holder = Literal["current", "pinned", "anchors"]
_STRONGEST_FIRST: tuple[_Holder, ...] = ("current", "pinned", "anchors")


class Burial(msgspec.Struct, frozen=True):
    """`peak` is the chunk's own peak brightness as it leaves; `reason` is a sentence to what `code` says in a word."""

    key: ChunkKey
    peak: float
    code: BurialCode
    reason: str


class Holding(msgspec.Struct, frozen=True):
    """What stays although it exceeds the budget, in tokens that add up to the plan's `total_after`.

    `anchors` are those that stay only for what is pinned or current. A turn's frame counts for what holds most firmly:
    current before pinned before anchors.
    """

    budget: int
    fixed: int
    current: int
    pinned: int
    anchors: int

    def __str__(self) -> str:
        total = self.fixed + self.current + self.pinned + self.anchors
        holders = {
            "the current turn": self.current,
            "pins": self.pinned,
            "the anchors of both": self.anchors,
            "what never leaves": self.fixed,
        }
        figures = ", ".join(f"{name} {tokens}" for name, tokens in holders.items() if tokens)
        return f"{total} tokens cannot be brought down to the budget of {self.budget}: {figures}."


class PruningPlan(msgspec.Struct, frozen=True):
    """`burials` are in the order in which they were decided; `held_by` is None if the rest fits."""

    burials: tuple[Burial, ...]
    total_after: int
    held_by: Holding | None


def plan(chunks: Sequence[LivingChunk], *, budget: int, fixed: int = 0) -> PruningPlan:
    """`fixed` are tokens besides the chunks that cannot leave. A budget of 0 means no pruning.

    All chunks of a turn name the same frame. The order of the chunks does not matter.
    """
    total = fixed + tokens_in_all(chunks)
    if budget == 0 or total <= budget:
        return PruningPlan((), total, None)
    pruning = _Pruning(chunks, total)
    pruning.bring_down_to(budget)
    held_by = _holding(pruning.staying(), budget, fixed) if pruning.total > budget else None
    return PruningPlan(tuple(pruning.burials), pruning.total, held_by)


class _Exchange:
    def __init__(self) -> None:
        self.anchors: list[LivingChunk] = []
        self.others: list[LivingChunk] = []
        self.others_left = 0


class _Unit(NamedTuple):
    """Chunks that leave at once. The smallest unit leaves first: positions differ, so that no more is compared."""

    standing: tuple[bool, float]
    first_position: int
    chunks: tuple[LivingChunk, ...]
    exchange: _Exchange


class _Pruning:
    def __init__(self, chunks: Sequence[LivingChunk], total: int) -> None:
        self.total = total
        self.burials: list[Burial] = []
        self._chunks = chunks
        self._left_of_turn: Counter[TurnKey] = Counter(chunk.turn for chunk in chunks)
        self._units: list[_Unit] = []
        self._free_chunks = 0
        for exchange in _exchanges(chunks):
            exchange.others_left = len(exchange.others)
            for chunk in exchange.others:
                self._free([chunk], exchange)
            self._free_anchors(exchange)

    def bring_down_to(self, budget: int) -> None:
        while self.total > budget and self._units:
            self._bury(heapq.heappop(self._units))

    def staying(self) -> list[LivingChunk]:
        buried = {burial.key for burial in self.burials}
        return [chunk for chunk in self._chunks if chunk.key not in buried]

    def _free_anchors(self, exchange: _Exchange) -> None:
        if exchange.anchors and exchange.others_left == 0:
            self._free(sorted(exchange.anchors), exchange)

    def _free(self, chunks: list[LivingChunk], exchange: _Exchange) -> None:
        if any(chunk.is_pinned or chunk.is_current for chunk in chunks):
            return
        self._free_chunks += len(chunks)
        standing = max(chunk.standing for chunk in chunks)
        heapq.heappush(self._units, _Unit(standing, chunks[0].first_position, tuple(chunks), exchange))

    def _bury(self, unit: _Unit) -> None:
        code, reason = _why(unit, self._free_chunks)
        self._free_chunks -= len(unit.chunks)
        for chunk in unit.chunks:
            turn = chunk.turn
            self._left_of_turn[turn] -= 1
            self.total -= chunk.tokens + (0 if self._left_of_turn[turn] else chunk.frame)
            self.burials.append(Burial(chunk.key, chunk.peak, code, reason))
        if code == "dimmest":
            unit.exchange.others_left -= 1
            self._free_anchors(unit.exchange)


def _exchanges(chunks: Iterable[LivingChunk]) -> Iterable[_Exchange]:
    """By the turn of their question, whether it lives or not; all of the system role is in one without anchors."""
    exchanges: defaultdict[int | None, _Exchange] = defaultdict(_Exchange)
    for chunk in chunks:
        turn, index, role = chunk.key.turn, chunk.key.index, chunk.key.role
        if role == "system":
            exchanges[None].others.append(chunk)
        else:
            exchange = exchanges[turn if role == "user" else turn - 1]
            (exchange.anchors if index == ANCHOR else exchange.others).append(chunk)
    return exchanges.values()


def _why(unit: _Unit, free_chunks: int) -> tuple[BurialCode, str]:
    chunks = "1 chunk" if free_chunks == 1 else f"{free_chunks} chunks"
    by_worth = all(chunk.worth is not None for chunk in unit.chunks)
    _, value = unit.standing
    what = f"worth {value:.2f}" if by_worth else f"peak brightness {value:g}"
    rank = f"Lowest {what} of {chunks} that may leave"
    if len(unit.chunks) > 1:
        return "exchange", f"{rank}; both anchors together, since nothing else of the exchange lives."
    if unit.exchange.others_left == 0:
        return "last_anchor", f"{rank}; the last that lived of its exchange."
    return "dimmest", f"{rank}."


def _holding(staying: Iterable[LivingChunk], budget: int, fixed: int) -> Holding:
    tokens: Counter[_Holder] = Counter()
    framed: set[TurnKey] = set()
    for chunk in sorted(staying, key=lambda chunk: _STRONGEST_FIRST.index(_holder_of(chunk))):
        tokens[_holder_of(chunk)] += chunk.tokens + (0 if chunk.turn in framed else chunk.frame)
        framed.add(chunk.turn)
    return Holding(budget, fixed, tokens["current"], tokens["pinned"], tokens["anchors"])


def _holder_of(chunk: LivingChunk) -> _Holder:
    if chunk.is_current:
        return "current"
    return "pinned" if chunk.is_pinned else "anchors"
