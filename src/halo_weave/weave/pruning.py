"""Plans which chunks leave a context that exceeds its budget, with a reason for each.

The chunk with the lowest rank leaves first, until the rest fits. Depending on the settings, the rank is `worth` or the
peak brightness alone. Among equals the older chunk leaves first: it has had more time to become bright, and the
conversation is about what was said last. For the same reason, recent chunks leave only when no other chunk can.

Pinned chunks and chunks of the current turn stay. A living chunk also keeps the anchors that would return with it: a
turn's first chunk stays while another chunk of the turn lives, and a question's first chunk also while any chunk of the
answer lives. A question makes sense without its answer, so it keeps none of the answer. Chunks of the system role have
no anchor.
"""

import heapq
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from halo_weave.records.chunks import ChunkKey
from halo_weave.weave.living import LivingChunk, TurnKey, tokens_in_all
from halo_weave.weave.resurrection import group_keys

BurialCode = Literal["dimmest", "less_needed", "last_of_turn"]
_Holder = Literal["current", "pinned", "anchors"]
_STRONGEST_FIRST: tuple[_Holder, ...] = ("current", "pinned", "anchors")


class Burial(msgspec.Struct, frozen=True):
    """`peak` is the chunk's peak brightness when it leaves; `reason` says in a sentence what `code` says in a word."""

    key: ChunkKey
    peak: float
    code: BurialCode
    reason: str


class Holding(msgspec.Struct, frozen=True):
    """Tokens that stay although they exceed the budget; they add up to the plan's `total_after`.

    `anchors` counts chunks that stay only because pinned or current chunks need them. A turn's frame counts towards the
    strongest of its holders: current, then pinned, then anchors.
    """

    budget: int
    fixed: int
    current: int
    pinned: int
    anchors: int

    def __str__(self) -> str:
        total = self.fixed + self.current + self.pinned + self.anchors
        figures = f"{total:,} of {self.budget:,} tokens"
        if not self.pinned:
            if not self.current + self.anchors:
                return f"The system prompt alone exceeds the budget ({figures}). Shorten it, or raise the budget."
            return f"This message alone exceeds the budget ({figures}). It stays until the next turn."
        holders = {
            "pinned text": self.pinned,
            "openings that it depends on": self.anchors,
            "the current turn": self.current,
            "the system prompt": self.fixed,
        }
        parts = ", ".join(f"{tokens:,} for {name}" for name, tokens in holders.items() if tokens)
        return f"The context exceeds the budget ({figures}: {parts}). Unpin something, or raise the budget."


class PruningPlan(msgspec.Struct, frozen=True):
    """`burials` are in the order of decision; `held_by` is None if the remaining chunks fit."""

    burials: tuple[Burial, ...]
    total_after: int
    held_by: Holding | None


def plan(chunks: Sequence[LivingChunk], *, budget: int, fixed: int = 0) -> PruningPlan:
    """`fixed` counts tokens outside the chunks that cannot leave. A budget of 0 means no pruning.

    All chunks of a turn have the same `frame`. The order of the chunks does not matter.
    """
    total = fixed + tokens_in_all(chunks)
    if budget == 0 or total <= budget:
        return PruningPlan((), total, None)
    pruning = _Pruning(chunks, total)
    pruning.bring_down_to(budget)
    held_by = holding(pruning.living.values(), budget, fixed) if pruning.total > budget else None
    return PruningPlan(tuple(pruning.burials), pruning.total, held_by)


class _Pruning:
    def __init__(self, chunks: Sequence[LivingChunk], total: int) -> None:
        self.total = total
        self.burials: list[Burial] = []
        self.living = {chunk.key: chunk for chunk in chunks}
        self._left_of_turn = Counter(chunk.turn for chunk in chunks)
        self._kept_by = Counter(anchor for key in self.living for anchor in group_keys(key)[1:])
        # A heap, smallest first. Positions are unique, so the chunks themselves are never compared.
        self._free: list[tuple[tuple[float, float], int, LivingChunk]] = []
        for key in self.living:
            self._free_if_nothing_keeps(key)

    def bring_down_to(self, budget: int) -> None:
        while self.total > budget and self._free:
            self._bury_least()

    def _free_if_nothing_keeps(self, key: ChunkKey) -> None:
        chunk = self.living.get(key)
        if chunk is not None and not (chunk.is_pinned or chunk.is_current or self._kept_by[key]):
            heapq.heappush(self._free, (chunk.standing, chunk.first_position, chunk))

    def _bury_least(self) -> None:
        free_chunks = len(self._free)
        _, _, chunk = heapq.heappop(self._free)
        del self.living[chunk.key]
        self._left_of_turn[chunk.turn] -= 1
        is_last_of_turn = not self._left_of_turn[chunk.turn]
        self.total -= chunk.tokens + (chunk.frame if is_last_of_turn else 0)
        self.burials.append(_burial(chunk, free_chunks, is_last_of_turn=is_last_of_turn))
        for anchor in group_keys(chunk.key)[1:]:
            self._kept_by[anchor] -= 1
            self._free_if_nothing_keeps(anchor)


def _burial(chunk: LivingChunk, free_chunks: int, *, is_last_of_turn: bool) -> Burial:
    rank = f"lowest of {free_chunks:,}" if free_chunks > 1 else "the only chunk that could leave"
    if chunk.worth is None:
        reason = f"Left because it received least attention (brightness {chunk.peak:g}, {rank})."
    else:
        what = "few new words or names, little attention"
        reason = f"Left because it added least: {what} (score {chunk.worth:.2f}, {rank})."
    if is_last_of_turn:
        return Burial(chunk.key, chunk.peak, "last_of_turn", f"{reason} Nothing of its turn is left in context.")
    return Burial(chunk.key, chunk.peak, "dimmest", reason)


def holding(staying: Iterable[LivingChunk], budget: int, fixed: int) -> Holding:
    """What holds these chunks in the context: they are pinned, current, or anchors of such chunks."""
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
