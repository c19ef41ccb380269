"""Plans which buried chunks return to a context, and how bright they are, with a reason for each.

A chunk that the search found returns in a group: the chunk itself, the anchor of its turn and, for an answer, the
anchor of its question. A question makes sense without its answer, whose opening would often cost more than the question
itself. Chunks that already live cost nothing, and no chunk is counted twice. If a group does not fit, the planner skips
it and tries the next one.
"""

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from halo_weave.errors import InputError
from halo_weave.records.chunks import ChunkKey, Span
from halo_weave.weave.brightness.protocol import NEW_BRIGHTNESS
from halo_weave.weave.living import ANCHOR, turn_of
from halo_weave.weave.settings import ResurrectionBrightness

FIXED_BRIGHTNESS = 255.0
SHOWN_SKIPPED = 5
RevivalCode = Literal["found", "anchor", "manual"]


class Candidate(NamedTuple):
    """A chunk that the search found, with the fields of its `Hit`. `need` is the probability that the reply to the
    message needs it."""

    key: ChunkKey
    score: float
    similarity: float | None = None
    vector_rank: int | None = None
    word_rank: int | None = None
    is_wish: bool = False
    word_weight: float = 0.0
    is_of_named_time: bool = False
    need: float = 0.0


class Dormant(NamedTuple):
    """A chunk that could return. `frame` is as in `LivingChunk`. `earned` is the chunk's peak brightness when this
    window buried it, or None if it did not. `token_earned` is the same per token, empty if unknown. `is_kept` tells
    whether the engine kept its state, so that it returns by a copy and need not be read again."""

    key: ChunkKey
    first_position: int
    tokens: int
    frame: int
    earned: float | None = None
    token_earned: tuple[float, ...] = ()
    is_kept: bool = False


class StartingBrightness(NamedTuple):
    """`mean` is the mean brightness of the living tokens."""

    choice: ResurrectionBrightness
    mean: float

    def of(self, earned: float | None) -> float:
        match self.choice:
            case "largest":
                return max(FIXED_BRIGHTNESS, self.mean, earned or 0.0)
            case "earned":
                return self.mean if earned is None else earned
            case "mean":
                return self.mean
            case "fixed":
                return FIXED_BRIGHTNESS

    def of_tokens(self, chunk: Dormant) -> tuple[float, ...]:
        """The starting brightness of each token by its own earned brightness; empty if that is unknown."""
        return tuple(map(self.of, chunk.token_earned))


class Revival(msgspec.Struct, frozen=True):
    """`brightness` applies to the chunk, and to each of its tokens unless `token_brightness` has a value for each.
    `reason` says in a sentence what `code` says in a word.

    For a target, `paired_with` has the anchors of its group, whether they already lived or return with it; for an
    anchor, it has the target. `found` is the search result of the target, also for its anchors. `looked_at` are the
    words that the message looks at, if they are known.
    """

    key: ChunkKey
    brightness: float
    is_pinned: bool
    code: RevivalCode
    reason: str
    paired_with: tuple[ChunkKey, ...]
    found: Candidate | None
    token_brightness: tuple[float, ...] = ()
    looked_at: tuple[Span, ...] = ()


class Skipped(msgspec.Struct, frozen=True):
    """A group that needed more tokens than were left."""

    key: ChunkKey
    needed: int
    left: int

    def __str__(self) -> str:
        needed = f"it needs {self.needed} tokens with the openings it depends on"
        return f"{self.key} did not fit: {needed}, and {self.left} were left."


class ResurrectionPlan(msgspec.Struct, frozen=True):
    """`revivals` are in the order of decision, each target before its anchors; `tokens` is their total size, including
    new frames. `skipped` has only the first few of the `skipped_groups` groups that did not fit."""

    revivals: tuple[Revival, ...]
    tokens: int
    skipped: tuple[Skipped, ...] = ()
    skipped_groups: int = 0


def group_keys(key: ChunkKey) -> tuple[ChunkKey, ...]:
    """The chunk's key, then those of the anchors that return with it, whether they exist or not."""
    if key.role == "system":
        return (key,)
    question = (ChunkKey(key.turn - 1, ANCHOR, "user"),) if key.role == "assistant" and key.turn > 0 else ()
    own_anchor = ChunkKey(key.turn, ANCHOR, key.role)
    return (key, *question) if key == own_anchor else (key, *question, own_anchor)


def plan(
    candidates: Sequence[Candidate],
    living: Collection[ChunkKey],
    dormant: Mapping[ChunkKey, Dormant],
    *,
    budget: int,
    starting: StartingBrightness,
) -> ResurrectionPlan:
    """Candidates are in search order. Among adjacent candidates with equal scores, the one that was brighter when
    buried goes first, then the more recent one.

    `dormant` has every chunk of the candidates' groups (`group_keys`) that is neither living nor deleted. An anchor
    that is in neither collection is left out of its group; such a candidate is ignored.
    """
    planning = _Planning(living, dormant, starting)
    skipped: list[Skipped] = []
    for candidate in _in_order(candidates, dormant):
        group = planning.missing_of(candidate.key)
        left = budget - planning.tokens
        if (needed := planning.cost(group)) <= left:
            planning.revive(group, candidate.key, candidate)
        elif not planning.is_there(candidate.key):
            skipped.append(Skipped(candidate.key, needed, left))
    return ResurrectionPlan(tuple(planning.revivals), planning.tokens, tuple(skipped[:SHOWN_SKIPPED]), len(skipped))


def manual(
    key: ChunkKey,
    living: Collection[ChunkKey],
    dormant: Mapping[ChunkKey, Dormant],
    *,
    starting: StartingBrightness,
) -> ResurrectionPlan:
    """A chunk that a person asks for returns at any cost, at full brightness and pinned. Its anchors return as they
    would with a chunk that the search found; the pin keeps them too."""
    planning = _Planning(living, dormant, starting)
    if planning.is_there(key):
        raise InputError(f"Chunk {key} is already in context; pin it to keep it there.")
    if key not in dormant:
        raise InputError(f"Chunk {key} cannot be brought back: it was deleted, or does not exist.")
    planning.revive(planning.missing_of(key), key, None)
    return ResurrectionPlan(tuple(planning.revivals), planning.tokens)


class _Planning:
    def __init__(
        self, living: Collection[ChunkKey], dormant: Mapping[ChunkKey, Dormant], starting: StartingBrightness
    ) -> None:
        self.revivals: list[Revival] = []
        self.tokens = 0
        self._dormant = dormant
        self._starting = starting
        self._there = set(living)
        self._framed = {turn_of(key) for key in living}

    def is_there(self, key: ChunkKey) -> bool:
        return key in self._there

    def missing_of(self, target: ChunkKey) -> list[Dormant]:
        """The chunks that must return so that the target and its anchors live; none if the target is unknown."""
        if target not in self._there and target not in self._dormant:
            return []
        missing = (key for key in group_keys(target) if key not in self._there)
        return [self._dormant[key] for key in missing if key in self._dormant]

    def cost(self, group: Iterable[Dormant]) -> int:
        group = list(group)
        frames = {turn_of(one.key): one.frame for one in group if turn_of(one.key) not in self._framed}
        return sum(one.tokens for one in group) + sum(frames.values())

    def revive(self, group: Sequence[Dormant], target: ChunkKey, found: Candidate | None) -> None:
        self.tokens += self.cost(group)
        self._there.update(one.key for one in group)
        self._framed.update(turn_of(one.key) for one in group)
        self.revivals += [
            self._target(one, found) if one.key == target else anchor_revival(one, target, self._starting, found)
            for one in group
        ]

    def _target(self, chunk: Dormant, found: Candidate | None) -> Revival:
        anchors = tuple(key for key in group_keys(chunk.key)[1:] if key in self._there)
        if found is not None:
            return found_revival(chunk, found, anchors, self._starting)
        return Revival(
            key=chunk.key,
            brightness=NEW_BRIGHTNESS,
            is_pinned=True,
            code="manual",
            reason="Brought back by hand.",
            paired_with=anchors,
            found=None,
        )


def found_revival(
    chunk: Dormant, found: Candidate, anchors: tuple[ChunkKey, ...], starting: StartingBrightness
) -> Revival:
    """A chunk that returns because the search found it; `anchors` are those of its group that live or return too."""
    return Revival(
        key=chunk.key,
        brightness=starting.of(chunk.earned),
        is_pinned=False,
        code="found",
        reason=_how_found(found),
        paired_with=anchors,
        found=found,
        token_brightness=starting.of_tokens(chunk),
    )


def anchor_revival(
    chunk: Dormant, target: ChunkKey, starting: StartingBrightness, found: Candidate | None = None
) -> Revival:
    """An anchor that returns because a target needs it."""
    return Revival(
        key=chunk.key,
        brightness=starting.of(chunk.earned),
        is_pinned=False,
        code="anchor",
        reason=why_anchor(chunk.key, target),
        paired_with=(target,),
        found=found,
        token_brightness=starting.of_tokens(chunk),
    )


def _in_order(candidates: Iterable[Candidate], dormant: Mapping[ChunkKey, Dormant]) -> Iterator[Candidate]:
    # Not sorted by score: a search for diverse results has its own order.
    def standing(candidate: Candidate) -> tuple[float, int, ChunkKey]:
        chunk = dormant.get(candidate.key)
        return (chunk.earned or 0.0, chunk.first_position, chunk.key) if chunk else (0.0, -1, candidate.key)

    for _, equals in itertools.groupby(candidates, key=lambda candidate: candidate.score):
        yield from sorted(equals, key=standing, reverse=True)


def _how_found(found: Candidate) -> str:
    ways = []
    if found.vector_rank is not None:
        similarity = "" if found.similarity is None else f", similarity {found.similarity:.2f}"
        ways.append(f"meaning (rank {found.vector_rank}{similarity})")
    if found.word_rank is not None:
        ways.append(f"words (rank {found.word_rank})")
    if found.is_wish:
        ways.append("being a wish related to the message")
    chance = f"probability of being needed {found.need:.2g}" if found.need else f"score {found.score:.3g}"
    return f"Found by {' and '.join(ways) or 'the search'}; {chance}."


def why_anchor(anchor: ChunkKey, target: ChunkKey) -> str:
    """Why an anchor is in context: a chunk that hangs on it is."""
    is_question = anchor.role != target.role
    return f"Opening of the question that {target} answers." if is_question else f"Opening of the turn of {target}."
