"""A window's living chunks and its burials: carries out the plans of `weave` and reports them as events."""

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta

from halo_weave.engine.protocol import Placed
from halo_weave.memory.memory import Memory
from halo_weave.records.chunks import Chunk, ChunkKey
from halo_weave.records.tokens import Token
from halo_weave.records.windows import BurialRecord, packed_brightness
from halo_weave.session.window.burial_log import BurialLog
from halo_weave.session.window.chunk_json import chunk_to_json, key_to_json
from halo_weave.session.window.events import EventLog
from halo_weave.session.window.reviving import Reviver
from halo_weave.weave import composing, pruning
from halo_weave.weave.composing import ContextPlan
from halo_weave.weave.context import Context, LiveChunk, ReturnVisit
from halo_weave.weave.layout import Frames, Layout, OpenTurn, lay_out, place_of_chunk, size_of
from halo_weave.weave.living import LivingChunk, TurnKey, tokens_in_all, turn_of
from halo_weave.weave.pruning import Burial, Holding, PruningPlan
from halo_weave.weave.recent import JUST_RETURNED, recencies
from halo_weave.weave.resurrection import (
    Candidate,
    Dormant,
    ResurrectionPlan,
    Revival,
    StartingBrightness,
    group_keys,
)
from halo_weave.weave.settings import WeaveSettings
from halo_weave.weave.worth import WorthInput, worths

_ROOM_TO_SPARE = 8
"""Tokens that may stay unused because dates were not known when a context was planned."""


_REMEMBERED_MESSAGES = 2
"""So many messages long a return is remembered: the text stays if there is room, and does not come and go."""


class LivingContext:
    """Every change holds `lock`, so that its holder sees a consistent state."""

    def __init__(self, memory: Memory, window_id: str, log: EventLog, clock: Callable[[], datetime]) -> None:
        self.context = Context()
        self._current: frozenset[TurnKey] = frozenset()
        self.lock = threading.RLock()
        self.burial_log = BurialLog(memory, window_id, self.lock)
        self._memory = memory
        self._log = log
        self._clock = clock
        self._message = 0
        """The number of messages that a context was composed for since the window was opened."""
        self._unused: dict[ChunkKey, ReturnVisit] = {}
        """Text that returned for one of the last messages and left again without having been looked at."""
        self.keeps: Callable[[Placed], bool] = lambda _: False
        """Whether the engine kept the state of a token that left the context."""

    def follow(self, settings: WeaveSettings, budget: int, frames: Frames, reviver: Reviver) -> None:
        """Use these from now on; `budget` is the maximum number of tokens between turns."""
        self._settings = settings
        self._recent_tokens = settings.recent_tokens(budget)
        self._gap = timedelta(hours=settings.gap_marker_hours) if settings.gap_marker_hours else None
        self.frames = frames
        self.reviver = reviver

    def begin_with(self, chunks: Iterable[LiveChunk], current: frozenset[TurnKey]) -> None:
        """Replace the living chunks with these, and discard unsaved changes to the burials."""
        with self.lock:
            self.context, self._current = Context(chunks), current
            self.burial_log.discard_unsaved()

    @property
    def current(self) -> frozenset[TurnKey]:
        """The turns of the exchange in progress, which are not pruned."""
        return self._current

    def hold(self, turns: Collection[TurnKey]) -> None:
        """Set the turns of the exchange in progress."""
        self._current = frozenset(turns)

    @contextmanager
    def also_holding(self, turns: Collection[TurnKey]) -> Iterator[None]:
        """Protect these turns from pruning too, inside the `with` block."""
        before = self._current
        self._current = before | frozenset(turns)
        try:
            yield
        finally:
            self._current = before

    def layout(self, opened: OpenTurn | None = None) -> Layout:
        return lay_out(self.context, self.frames, gap=self._gap, opened=opened)

    def size(self) -> int:
        """All tokens that the model would see, including frames and the system prompt."""
        return size_of(self.context, self.frames, gap=self._gap)

    def frame_tokens(self, turn: TurnKey, time: datetime) -> int:
        opening = self.frames.opening(turn.role, time, follows_gap=False)
        return len(opening) + len(self.frames.closing(turn.role, time))

    def prune(self, budget: int) -> Holding | None:
        """Bury the lowest-ranked chunks until the context fits; returns what holds it if it cannot. 0: no pruning."""
        while True:
            # Dates at gaps depend on the neighbouring chunks and are not part of a plan, so another plan may be needed.
            plan = self.plan_pruning(budget, self.current)
            self._bury(plan.burials)
            if not plan.burials:
                return plan.held_by

    def carry_out(self, plan: PruningPlan) -> None:
        self._bury(plan.burials)

    def plan_pruning(
        self, budget: int, current: Collection[TurnKey], *, without: Collection[TurnKey] = ()
    ) -> PruningPlan:
        """Plan as if `current` were the turns of the exchange in progress and the turns in `without` were gone."""
        staying = [one for one in self.context if one.turn not in without]
        size = size_of(staying, self.frames, gap=self._gap)
        if budget == 0 or size <= budget:
            return PruningPlan((), size, None)  # skips computing the worth of each chunk
        chunks = [one for one in self.living(current) if one.turn not in without]
        return pruning.plan(chunks, budget=budget, fixed=size - tokens_in_all(chunks))

    def plan_context(
        self,
        candidates: Sequence[Candidate],
        known: Mapping[ChunkKey, Chunk],
        *,
        needs: Mapping[ChunkKey, float],
        floor: float,
        most_read: int,
        budget: int,
    ) -> ContextPlan:
        """Plan the context for a message that is not in it yet. `known` has chunks that need not be read again, and
        `needs` how likely the reply needs each chunk that the search found."""
        living = self.living((), needs)
        candidates = [candidate for candidate in candidates if self._is_worth_a_return(candidate)]
        groups = [key for candidate in candidates for key in group_keys(candidate.key)]
        dormant = self.dormant(groups, known)
        starting, fixed = self.starting_brightness(), len(self.frames.beginning)

        def planned(room: int) -> ContextPlan:
            return composing.plan(
                living,
                candidates,
                dormant,
                budget=room,
                fixed=fixed,
                most_read=most_read,
                floor=floor,
                starting=starting,
            )

        # Dates at gaps depend on the neighbouring chunks and are not part of a plan, so look for the largest that fits.
        plan, fits, exceeds = planned(budget), budget, budget
        while (excess := self._size_after(plan, known) - budget) > 0 and fits > 1 and plan.held_by is None:
            fits, exceeds = max(1, fits - excess), fits
            plan = planned(fits)
        while exceeds - fits > _ROOM_TO_SPARE:
            other = planned(room := (fits + exceeds) // 2)
            if self._size_after(other, known) <= budget:
                plan, fits = other, room
            else:
                exceeds = room
        return plan

    def _size_after(self, plan: ContextPlan, known: Mapping[ChunkKey, Chunk]) -> int:
        left = {burial.key for burial in plan.leaves}
        after = Context(chunk for chunk in self.context if chunk.key not in left)
        for _, chunk in self._revived(plan.returns, known):
            after.add(chunk)
        return size_of(after, self.frames, gap=self._gap)

    def compose(self, plan: ContextPlan) -> None:
        """Carry out a plan for a message."""
        with self.lock:
            self._message += 1
            self._unused = {
                key: visit
                for key, visit in self._unused.items()
                if self._message - visit.message <= _REMEMBERED_MESSAGES
            }
            self._bury(plan.leaves)
            self.revive(ResurrectionPlan(plan.returns, plan.returned_tokens, plan.skipped, plan.skipped_groups))
            for revival in plan.returns:
                if revival.found is not None and revival.key in self.context:
                    chunk = self.context[revival.key]
                    chunk.return_visit = ReturnVisit(self._message, revival.found.need, chunk.peak)

    def living(self, current: Collection[TurnKey], needs: Mapping[ChunkKey, float] = {}) -> list[LivingChunk]:
        """The living chunks as the planners see them, if `current` are the turns of the exchange in progress."""
        chunks = [
            LivingChunk(
                key=chunk.key,
                first_position=chunk.first_position,
                tokens=len(chunk.tokens),
                frame=self.frame_tokens(chunk.turn, chunk.time),
                peak=chunk.peak,
                is_pinned=chunk.is_pinned,
                is_current=chunk.turn in current,
                worth=worth,
            )
            for chunk, worth in zip(self.context, self._worths(), strict=True)
        ]
        # A returned chunk is from another time or another window, even if its turn is new.
        own = {chunk.key for chunk in self.context if not chunk.returned}
        recent = recencies((one for one in chunks if one.key in own and not one.is_current), self._recent_tokens)
        recent |= {chunk.key: JUST_RETURNED for chunk in self.context if self._has_just_returned(chunk)}
        return [one._replace(recency=recent.get(one.key, 0.0), need=needs.get(one.key, 0.0)) for one in chunks]

    def _has_just_returned(self, chunk: LiveChunk) -> bool:
        return chunk.return_visit is not None and self._message - chunk.return_visit.message < _REMEMBERED_MESSAGES

    def _is_worth_a_return(self, candidate: Candidate) -> bool:
        """Text that returned and was not looked at does not return for the next messages unless they need it more."""
        visit = self._unused.get(candidate.key)
        return visit is None or candidate.need > visit.need

    def dormant(self, keys: Iterable[ChunkKey], known: Mapping[ChunkKey, Chunk]) -> dict[ChunkKey, Dormant]:
        """The planning data of those chunks that could return, because they are neither living nor deleted."""
        found = {}
        asked = list(dict.fromkeys(keys))
        graves = self.burial_log.among(asked)
        unknown = [key for key in asked if key not in self.context and key not in known]
        stored = {key: entry.chunk for key, entry in self._memory.chunks_by_keys(unknown).items()}
        for key in asked:
            chunk = None if key in self.context else known.get(key) or stored.get(key)
            if chunk is None or chunk.deleted:
                continue
            tokens, is_foreign = self.reviver.tokens(chunk)
            grave = graves.get(key)
            frame = self.frame_tokens(turn_of(key), chunk.time)
            earned = () if grave is None else grave.token_brightness()
            found[key] = Dormant(
                key,
                chunk.first_position,
                len(tokens),
                frame,
                grave.peak if grave else None,
                # The values belong to other tokens if the chunk was tokenised by another model or merged since.
                earned if len(earned) == len(tokens) else (),
                self.keeps(self._first_placed(chunk, tokens, is_foreign)),
            )
        return found

    def _first_placed(self, chunk: Chunk, tokens: Sequence[Token], is_foreign: bool) -> Placed:
        place = place_of_chunk(chunk.first_position, self.reviver.turn_start(chunk), is_foreign=is_foreign)
        return Placed(place, tokens[0].id)

    def starting_brightness(self) -> StartingBrightness:
        return StartingBrightness(self._settings.resurrection_brightness, self.context.mean_brightness())

    def _revived(self, revivals: Iterable[Revival], known: Mapping[ChunkKey, Chunk]) -> list[tuple[Revival, LiveChunk]]:
        revivals = list(revivals)
        unknown = (revival.key for revival in revivals if revival.key not in known)
        chunks = {**known, **{key: entry.chunk for key, entry in self._memory.chunks_by_keys(unknown).items()}}
        return [
            (
                revival,
                self.reviver.alive(
                    chunk,
                    brightness=revival.brightness,
                    token_brightness=revival.token_brightness,
                    is_pinned=revival.is_pinned,
                ),
            )
            for revival in revivals
            if revival.key in chunks and not (chunk := chunks[revival.key]).deleted
        ]

    def revive(self, plan: ResurrectionPlan) -> None:
        revived = self._revived(plan.revivals, {})
        with self.lock:
            for revival, live in revived:
                live.returned, live.looked_at = revival.reason, revival.looked_at
                self.context.add(live)
            self.burial_log.exhume(revival.key for revival, _ in revived)
            if revived:
                self._log.tell(
                    "resurrected",
                    chunks=[{**chunk_to_json(live), "code": one.code, "reason": one.reason} for one, live in revived],
                    skipped=[str(skipped) for skipped in plan.skipped],
                    skipped_groups=plan.skipped_groups,
                )

    def add(self, chunks: Iterable[LiveChunk]) -> None:
        with self.lock:
            for chunk in chunks:
                self.context.add(chunk)

    def drop(self, keys: Collection[ChunkKey]) -> list[LiveChunk]:
        """Remove deleted chunks; returns those that were living."""
        with self.lock:
            self.burial_log.exhume(keys)
            return [self.context.remove(key) for key in keys if key in self.context]

    def _worths(self) -> Sequence[float | None]:
        if self._settings.keeps_by == "brightness":
            return [None] * len(self.context)
        said = [WorthInput(one.key.role, tuple(token.text for token in one.tokens), one.peak) for one in self.context]
        return [float(worth) for worth in worths(said)]

    def _bury(self, burials: Sequence[Burial]) -> None:
        time = self._clock()
        with self.lock:
            for burial in burials:
                chunk = self.context.remove(burial.key)
                visit = chunk.return_visit
                if visit is not None and self._has_just_returned(chunk) and chunk.peak < visit.peak:
                    self._unused[chunk.key] = visit
                brightness = packed_brightness(chunk.brightness)
                self.burial_log.bury(
                    BurialRecord(burial.key, chunk.first_position, burial.peak, burial.reason, time, brightness)
                )
            if burials:
                self._log.tell(
                    "buried",
                    chunks=[
                        {"key": key_to_json(one.key), "peak": round(one.peak), "code": one.code, "reason": one.reason}
                        for one in burials
                    ],
                )
