"""Plans the whole context for a message: what stays, what returns and what leaves, with a reason for each.

Living and returning text compete on one scale, the probability that the reply needs it. A living chunk is needed
because the search says so or because it was said just now. What would return counts less a price for the part of it
that the engine must read; text whose state the engine kept costs only a copy. The most valuable text gets the room
first. Pinned chunks, the exchange in progress and their anchors come before everything, and no chunk is in context
without its anchors.

Without a message nothing is needed and nothing can return, and the same chunks leave as in `pruning`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from halo_weave.records.chunks import ChunkKey
from halo_weave.weave.living import LivingChunk, TurnKey, turn_of
from halo_weave.weave.pruning import Burial, Holding, holding
from halo_weave.weave.resurrection import (
    SHOWN_SKIPPED,
    Candidate,
    Dormant,
    Revival,
    Skipped,
    StartingBrightness,
    anchor_revival,
    found_revival,
    group_keys,
    why_anchor,
)

PRICE = 0.001
"""The price of reading a token, as a probability of being needed: text that is less likely to be needed is not read."""

StayCode = Literal["current", "pinned", "anchor", "needed", "recent", "room"]


class Stay(msgspec.Struct, frozen=True):
    """A living chunk that stays; `reason` says in a sentence what `code` says in a word."""

    key: ChunkKey
    code: StayCode
    reason: str


class ContextPlan(msgspec.Struct, frozen=True):
    """`returns` and `leaves` are in the order of decision, each target before its anchors; `stays` are in order of
    position. `returned_tokens` counts what returns with its frames, and `read_tokens` the part of it that the engine
    must read. `held_by` is None if everything fits. `skipped` has only the first few of the `skipped_groups` groups
    that did not fit."""

    stays: tuple[Stay, ...]
    returns: tuple[Revival, ...]
    leaves: tuple[Burial, ...]
    total_after: int
    returned_tokens: int = 0
    read_tokens: int = 0
    held_by: Holding | None = None
    skipped: tuple[Skipped, ...] = ()
    skipped_groups: int = 0


def plan(
    living: Sequence[LivingChunk],
    candidates: Sequence[Candidate],
    dormant: Mapping[ChunkKey, Dormant],
    *,
    budget: int,
    fixed: int = 0,
    most_read: int = 0,
    floor: float = 0.0,
    price: float = PRICE,
    starting: StartingBrightness,
) -> ContextPlan:
    """Candidates below the `floor` do not return, nor what would make the engine read more than `most_read` tokens, if
    that is not 0. `fixed` counts tokens outside the chunks that cannot leave. A budget
    of 0 means no limit. The order of the chunks and of the candidates does not matter.

    `dormant` has every chunk of the candidates' groups (`group_keys`) that is neither living nor deleted. An anchor
    that is in neither collection is left out of its group; such a candidate is ignored.
    """
    composing = _Composing(living, candidates, dormant, budget, fixed, most_read)
    composing.hold(chunk.key for chunk in living if chunk.is_pinned or chunk.is_current)
    held = [composing.living[key] for key in composing.there]
    held_by = holding(held, budget, fixed) if budget and composing.total > budget else None
    for bid in composing.bids(floor, price):
        if bid.found is None:
            composing.let_stay(bid.key)
        else:
            composing.let_return(bid)
    return ContextPlan(
        stays=tuple(composing.stays()),
        returns=tuple(composing.returns(starting)),
        leaves=tuple(composing.leaves()),
        total_after=composing.total,
        returned_tokens=composing.returned_tokens,
        read_tokens=composing.read_tokens,
        held_by=held_by,
        skipped=tuple(composing.skipped[:SHOWN_SKIPPED]),
        skipped_groups=len(composing.skipped),
    )


class _Bid(NamedTuple):
    """A chunk that competes for room; `found` is None if it lives. Bids are compared by their fields in this order."""

    value: float
    is_living: bool
    standing: tuple[float, float]
    first_position: int
    key: ChunkKey
    found: Candidate | None


class _Composing:
    def __init__(
        self,
        living: Sequence[LivingChunk],
        candidates: Sequence[Candidate],
        dormant: Mapping[ChunkKey, Dormant],
        budget: int,
        fixed: int,
        most_read: int,
    ) -> None:
        self.living = {chunk.key: chunk for chunk in living}
        self.there: dict[ChunkKey, ChunkKey] = {}
        """The chunks in context, in the order of decision, each with the target because of which it is there."""
        self.total = fixed
        self.returned_tokens = 0
        self.read_tokens = 0
        self.skipped: list[Skipped] = []
        self._budget = budget
        self._most_read = most_read
        self._dormant = {key: chunk for key, chunk in dormant.items() if key not in self.living}
        self._candidates = {one.key: one for one in candidates if one.key in self._dormant}
        self._returning: dict[ChunkKey, Candidate] = {}
        self._framed: set[TurnKey] = set()
        self._is_full = False
        self._ranked: dict[ChunkKey, None] = {}
        """The living chunks by falling value, each after its anchors."""

    def hold(self, keys: Iterable[ChunkKey]) -> None:
        """Put these living chunks and their anchors into the context, at any cost."""
        for key in sorted(keys):
            self._add(self._missing_living(key), key)

    def bids(self, floor: float, price: float) -> Iterator[_Bid]:
        """The chunks that compete, most valuable first. Among equals, living text comes first."""
        stays = (
            _Bid(one.value, True, one.standing, one.first_position, key, None)
            for key, one in self.living.items()
            if key not in self.there
        )
        returns = (
            _Bid(value, False, (self._dormant[key].earned or 0.0, 0.0), self._dormant[key].first_position, key, one)
            for key, one in self._candidates.items()
            if one.need >= floor and (value := self._value(key, price)) > 0
        )
        return iter(sorted((*stays, *returns), key=lambda bid: bid[:5], reverse=True))

    def let_stay(self, key: ChunkKey) -> None:
        """Keep a living chunk and its anchors if they fit. Once one does not, all that are worth less leave."""
        for member in self._missing_living(key):
            self._ranked[member] = None
            if not self._is_full and self._fits([member]):
                self._add([member], key)
            else:
                self._is_full = True

    def let_return(self, bid: _Bid) -> None:
        """Let a chunk return with its anchors if they fit together and are not too much to read."""
        group = self._missing(bid.key)
        if not group:
            return
        if not self._fits(group):
            self.skipped.append(Skipped(bid.key, self._cost(group), self._budget - self.total))
            return
        returning = [self._dormant[key] for key in group if key in self._dormant]
        read = self._read(returning)
        if self._most_read and self.read_tokens + read > self._most_read:
            self.skipped.append(Skipped(bid.key, read, self._most_read - self.read_tokens))
            return
        self.returned_tokens += self._cost([one.key for one in returning])
        self.read_tokens += read
        assert bid.found is not None
        self._returning.update((one.key, bid.found) for one in returning)
        self._add(group, bid.key)

    def stays(self) -> Iterator[Stay]:
        by_position = sorted(self.living.values(), key=lambda one: one.first_position)
        return (_stay(one, self.there[one.key]) for one in by_position if one.key in self.there)

    def leaves(self) -> Iterator[Burial]:
        left = [self.living[key] for key in reversed(self._ranked) if key not in self.there]
        last_of_turn = {chunk.turn: chunk.key for chunk in left if chunk.turn not in self._framed}
        return (_burial(chunk, is_last_of_turn=last_of_turn.get(chunk.turn) == chunk.key) for chunk in left)

    def returns(self, starting: StartingBrightness) -> Iterator[Revival]:
        for target in dict.fromkeys(self.there[key] for key in self._returning):
            found = self._returning.get(target)
            if found is not None:
                anchors = tuple(key for key in group_keys(target)[1:] if key in self.there)
                yield found_revival(self._dormant[target], found, anchors, starting)
            for key in reversed(group_keys(target)[1:]):
                if key in self._returning and self.there[key] == target:
                    yield anchor_revival(self._dormant[key], target, starting, self._returning[key])

    def _value(self, key: ChunkKey, price: float) -> float:
        """How likely a chunk is needed, less the price of what must be read of its group."""
        group = [self._dormant[member] for member in _whole_group(key) if member in self._dormant]
        read = self._read(group) / sum(one.tokens for one in group)
        return self._candidates[key].need - price * read

    def _missing(self, key: ChunkKey) -> list[ChunkKey]:
        """The chunks that must join the context so that a chunk is in it, anchors first."""
        return [
            one for one in _whole_group(key) if one not in self.there and (one in self.living or one in self._dormant)
        ]

    def _missing_living(self, key: ChunkKey) -> list[ChunkKey]:
        return [one for one in self._missing(key) if one in self.living]

    def _cost(self, keys: Sequence[ChunkKey]) -> int:
        chunks = [self._chunk(key) for key in keys]
        frames = {turn_of(one.key): one.frame for one in chunks if turn_of(one.key) not in self._framed}
        return sum(one.tokens for one in chunks) + sum(frames.values())

    def _read(self, group: Iterable[Dormant]) -> int:
        return sum(one.tokens for one in group if not one.is_kept)

    def _fits(self, keys: Sequence[ChunkKey]) -> bool:
        return not self._budget or self.total + self._cost(keys) <= self._budget

    def _add(self, keys: Sequence[ChunkKey], target: ChunkKey) -> None:
        self.total += self._cost(keys)
        self.there.update((key, target) for key in keys)
        self._framed.update(turn_of(key) for key in keys)

    def _chunk(self, key: ChunkKey) -> LivingChunk | Dormant:
        return self.living[key] if key in self.living else self._dormant[key]


def _whole_group(key: ChunkKey) -> tuple[ChunkKey, ...]:
    """A chunk with its anchors, which come first."""
    return (*group_keys(key)[1:], key)


def _stay(chunk: LivingChunk, target: ChunkKey) -> Stay:
    if chunk.is_current:
        return Stay(chunk.key, "current", "Part of the exchange in progress.")
    if chunk.is_pinned:
        return Stay(chunk.key, "pinned", "Pinned.")
    if target != chunk.key:
        return Stay(chunk.key, "anchor", why_anchor(chunk.key, target))
    if chunk.need > chunk.recency:
        return Stay(chunk.key, "needed", f"The message needs it (probability {chunk.need:.2g}).")
    if chunk.recency:
        return Stay(chunk.key, "recent", "Said or brought back just now.")
    return Stay(chunk.key, "room", "There is room for it.")


def _burial(chunk: LivingChunk, *, is_last_of_turn: bool) -> Burial:
    if chunk.value:
        chance = f"probability of being needed {chunk.value:.2g}"
        reason = f"Left because other text matters more for this message ({chance})."
    else:
        reason = "Left because this message does not need it, and other text needed the room."
    if is_last_of_turn:
        return Burial(chunk.key, chunk.peak, "last_of_turn", f"{reason} Nothing of its turn is left in context.")
    return Burial(chunk.key, chunk.peak, "less_needed", reason)
