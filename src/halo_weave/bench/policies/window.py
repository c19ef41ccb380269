"""A window under a policy: the product's own pruning and resurrection, with a different ranking of chunks.

Policies differ only in how they rank chunks and in whether anything returns. The turns of a chat pass through the
window unchanged; the model reads the replies as if it wrote them. For all policies, message and reply come on top of
the budget, as far as the model's context allows.
"""

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal, NamedTuple

import msgspec

from halo_weave.bench.policies.filling import plan_filling
from halo_weave.bench.policies.reading import Reader
from halo_weave.bench.policies.stream import StreamedChat, StreamedTurn, StreamMemory
from halo_weave.engine.llamacpp.engine import LlamaEngine
from halo_weave.records.chunks import Chunk, ChunkKey, utc_now
from halo_weave.records.tokens import Token
from halo_weave.records.windows import BurialRecord
from halo_weave.session.settings import WindowSettings
from halo_weave.session.turn.recalling import plan_context
from halo_weave.session.window.restoring import new_window, new_window_id
from halo_weave.session.window.reviving import Reviver
from halo_weave.session.window.window import Window, WindowEnvironment
from halo_weave.session.window.words import ChunkSizes
from halo_weave.weave.brightness.cumulative import Cumulative
from halo_weave.weave.brightness.settings import ScorerSettings
from halo_weave.weave.layout import Layout, OpenTurn
from halo_weave.weave.living import ANCHOR, TurnKey, turn_of
from halo_weave.weave.recent import recencies

KeptFirst = Literal["newest", "sinks", "heavy", "chance", "bright"]
_HEAVY = ScorerSettings(scorer="cumulative")


def _heavy_scorer() -> Cumulative:
    """Return a scorer that sums attention without decay or distance weighting, as in H2O (arXiv:2306.14048)."""
    return Cumulative(_HEAVY.sink, half_life=1_000_000, half_weight_distance=0)


_SPARE = 256
"""Tokens reserved for the system prompt and the frames of turns."""


class Keeping(NamedTuple):
    """What a policy keeps.

    If nothing returns, living chunks may fill the whole budget. An unrestrained policy fills the free space with the
    best hits.
    """

    kept: KeptFirst
    returns: bool
    is_restrained: bool = True


class _Reviver(Reviver):
    """A reviver for chunks that all have the model's own tokens; each chunk is read and unpacked once."""

    def __init__(self, memory: StreamMemory, window: Window) -> None:
        super().__init__(memory, window.engine, window.scorer)
        self._stream = memory

    def tokens(self, chunk: Chunk) -> tuple[list[Token], bool]:
        return self._stream.tokens(chunk), False

    def turn_start(self, chunk: Chunk) -> int:
        anchor = self._stream.chunk(ChunkKey(chunk.key.turn, ANCHOR, chunk.key.role))
        return super().turn_start(chunk) if anchor is None else anchor.chunk.first_position


class PolicyWindow:
    def __init__(
        self,
        engine: LlamaEngine,
        memory: StreamMemory,
        settings: WindowSettings,
        chat: StreamedChat,
        keeping: Keeping,
        budget: int,
        *,
        is_read: bool,
    ) -> None:
        """`is_read` tells whether the model reads the chat; otherwise its tokens are only counted, and the brightness
        of text stays what it is when the text is new or returns."""
        if keeping.kept != "bright":
            by_brightness = msgspec.structs.replace(settings.weave, keeps_by="brightness")
            brightness = _HEAVY if keeping.kept == "heavy" else settings.brightness
            settings = msgspec.structs.replace(settings, weave=by_brightness, brightness=brightness)
        around = WindowEnvironment(engine, memory, settings, ChunkSizes(1, 0), utc_now)
        self.window = new_window(around, f"{chat.name} {keeping.kept} {budget}", new_window_id())
        if keeping.kept == "heavy":
            self.window.scorer = _heavy_scorer()
        life = self.window.life
        self.budget = budget
        self._memory = memory
        self._chat = chat
        self._keeping = keeping
        self._living = settings.weave.budget(budget) if keeping.returns else budget
        life.follow(settings.weave, self._living, life.frames, _Reviver(memory, self.window))
        self._reader = Reader(self.window, attentive=is_read)
        life.keeps = self._reader.keeps
        self._chance = random.Random(chat.name)
        self._standing: dict[ChunkKey, float] = {}
        self._arrivals = 0
        self.exchanges = 0
        self.decoded = 0

    def live_through(self) -> None:
        """Pass the chat's last part through the window. Afterwards the memory shows everything before its end."""
        for message, reply in exchanges([said for said in self._chat.tail if self._can_take(said)]):
            self._begin(message, reply)
            self._go_on(message, reply)
        self._memory.until = self._chat.end
        self._leave_only_what_fits()

    def contexts(self) -> Iterator[Layout]:
        """Pass the chat's last part through the window, and yield the context before each message or reply."""
        for message, reply in exchanges(self._chat.tail):
            self._begin(message, reply)
            yield self.window.life.layout()
            self._go_on(*(said if said is None or self._can_take(said) else None for said in (message, reply)))

    @contextmanager
    def asked(self, text: str) -> Iterator[Layout]:
        """Yield the context in which a question would be answered, and restore the window afterwards."""
        life, before = self.window.life, list(self.window.life.context)
        living, standing, arrivals = {chunk.key for chunk in before}, dict(self._standing), self._arrivals
        raised = self._return_for(text, self._chat.end)
        try:
            yield life.layout()
        finally:
            for chunk in list(life.context):
                if chunk.key not in living:
                    life.context.remove(chunk.key)
            for chunk in before:
                if chunk.key not in life.context:
                    life.context.add(chunk)
            life.burial_log.exhume(living)
            for burial in raised:
                if burial.key not in living:
                    life.burial_log.bury(burial)
            self._standing, self._arrivals = standing, arrivals

    def close(self) -> None:
        self.window.close()

    def _can_take(self, said: StreamedTurn) -> bool:
        """Return whether the turn fits. A window refuses one that leaves no room for an answer; the memory has it."""
        return sum(chunk.token_count for chunk in said.chunks) <= (self.window.usable_tokens - _SPARE) // 2

    def _begin(self, message: StreamedTurn | None, reply: StreamedTurn | None) -> None:
        """Make the context that the policy offers for a message."""
        first = message or reply
        assert first is not None
        self._memory.until = first.start
        self._leave_only_what_fits()
        if message is not None:
            self._return_for(message.text, message.start)

    def _go_on(self, message: StreamedTurn | None, reply: StreamedTurn | None) -> None:
        """Let the message and its reply pass through the window."""
        life, current = self.window.life, frozenset(one.turn for one in (message, reply) if one is not None)
        life.hold(current)
        if message is not None:
            life.add(life.reviver.fresh(chunk, self._memory.tokens(chunk)) for chunk in message.chunks)
        opened = None if reply is None else OpenTurn(reply.turn, reply.start, reply.chunks[0].time)
        words = [] if reply is None else [token for chunk in reply.chunks for token in self._memory.tokens(chunk)]
        framed = 0 if reply is None else life.frame_tokens(reply.turn, reply.chunks[0].time)
        self._leave_only(current, max(1, self.window.usable_tokens - len(words) - framed))
        read = self._reader.read(life.layout(opened), opened, words)
        start = 0
        for chunk in reply.chunks if reply is not None else ():
            state = None if read.state is None else read.state[:, start : start + chunk.token_count]
            life.add([life.reviver.fresh(chunk, self._memory.tokens(chunk), state)])
            start += chunk.token_count
        self.decoded += read.decoded
        self.exchanges += 1
        self._leave_only(current, self._living)

    def _return_for(self, text: str, before: int) -> list[BurialRecord]:
        """Resurrect what the product would into the free space. Return the burials that this removed from the log."""
        life = self.window.life
        if self._keeping.kept == "bright":
            composed = plan_context(self.window, text, self.budget, before)
            raised = life.burial_log.among(revival.key for revival in composed.returns)
            life.compose(composed)
            return list(raised.values())
        room = self.budget - life.size()
        while self._keeping.returns and room > 0:
            plan = plan_filling(self.window, text, room, before, is_restrained=self._keeping.is_restrained)
            raised = life.burial_log.among(revival.key for revival in plan.revivals)
            life.revive(plan)
            # The plan does not count dates at gaps, so the result may be too large.
            if life.size() <= self.budget or not plan.revivals:
                return list(raised.values())
            room -= life.size() - self.budget
            for revival in plan.revivals:
                life.context.remove(revival.key)
            for burial in raised.values():
                life.burial_log.bury(burial)
        return []

    def _leave_only_what_fits(self) -> None:
        """Prune before a message; Halo Weave's plan for the message does that."""
        self.window.life.hold(())
        if self._keeping.kept != "bright":
            self._leave_only(frozenset(), self._living)

    def _leave_only(self, current: frozenset[TurnKey], tokens: int) -> None:
        """Bury the chunks that the policy ranks lowest until at most `tokens` tokens live."""
        life = self.window.life
        self._judge()
        life.hold(current | self._recent() if self._keeping.kept == "heavy" else current)
        life.prune(tokens)
        self._standing = {key: value for key, value in self._standing.items() if key in life.context}

    def _judge(self) -> None:
        if self._keeping.kept in ("heavy", "bright"):
            return
        for chunk in self.window.life.context:
            if chunk.key not in self._standing:
                self._arrivals += 1
                is_random = self._keeping.kept == "chance"
                self._standing[chunk.key] = self._chance.random() if is_random else float(self._arrivals)
                chunk.is_pinned = self._keeping.kept == "sinks" and self._arrivals == 1
            chunk.shine(self._standing[chunk.key])

    def _recent(self) -> frozenset[TurnKey]:
        """Return the newest turns up to half of the budget, which H2O always keeps."""
        living = self.window.life.living(())
        recent = recencies(living, self.budget // 2 - len(self.window.life.frames.beginning))
        return frozenset({turn_of(key) for key in recent} - {one.turn for one in living if one.key not in recent})


def exchanges(tail: Sequence[StreamedTurn]) -> Iterator[tuple[StreamedTurn | None, StreamedTurn | None]]:
    """Pair messages with their replies; either is None where one side spoke twice in a row."""
    message: StreamedTurn | None = None
    for said in tail:
        if said.turn.role == "user":
            if message is not None:
                yield message, None
            message = said
        else:
            yield message, said
            message = None
    if message is not None:
        yield message, None
