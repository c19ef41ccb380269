"""Asks a conversation's questions under one policy."""

import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import NamedTuple

from halo_weave.bench.policies.figures import CEILING, HALO, NEED_ATTENTION, REREAD
from halo_weave.bench.policies.outcomes import OutcomeRow, PolicyOutcome
from halo_weave.bench.policies.reading import behind, expectation
from halo_weave.bench.policies.retrieval import (
    NOTHING_LIVES,
    Ceiling,
    Situation,
    appended,
    decoded_per_exchange,
    in_order_of_time,
)
from halo_weave.bench.policies.stream import AskedQuestion, StreamedChat, StreamMemory
from halo_weave.bench.policies.window import Keeping, PolicyWindow, exchanges
from halo_weave.engine import turns
from halo_weave.engine.llamacpp.context import LlamaContext
from halo_weave.engine.llamacpp.engine import LlamaEngine
from halo_weave.session.settings import WindowSettings

ANSWER_TOKENS = 64
"""Only this many tokens of an answer count."""
KEEPING = {
    "fifo": Keeping("newest", returns=False),
    "sinks": Keeping("sinks", returns=False),
    "h2o": Keeping("heavy", returns=False),
    "fifo_return": Keeping("newest", returns=True),
    "random_return": Keeping("chance", returns=True),
    HALO: Keeping("bright", returns=True),
}


class Workshop(NamedTuple):
    """`reading` is a context without attention, used for every policy but Halo Weave, which edits its own."""

    engine: LlamaEngine
    memory: StreamMemory
    settings: WindowSettings
    reading: LlamaContext


class FoundEvidence(NamedTuple):
    """Outcomes by policy, and the seconds that the model spent on the questions put to it."""

    outcomes: dict[str, PolicyOutcome]
    seconds_put: float


class Asking:
    def __init__(self, workshop: Workshop, chats: Mapping[str, StreamedChat], sampled: Collection[int]) -> None:
        self._workshop = workshop
        self._chats = chats
        self._sampled = sampled
        self._put: Collection[int] = ()
        self._seconds_put = 0.0
        engine = workshop.engine
        self._opening = turns.opening_tokens(engine, "user")
        self._closing = [*turns.closing_tokens(engine, "user"), *turns.opening_tokens(engine, "assistant")]

    def found(self, conversation: str, policy: str, budget: int, puts: bool) -> FoundEvidence:
        """Return the outcome of the policy, and of any other that is measured along with it."""
        before, self._put = self._seconds_put, self._sampled if puts else ()
        outcomes = self._outcomes(conversation, policy, budget)
        return FoundEvidence(outcomes, self._seconds_put - before)

    def _outcomes(self, conversation: str, policy: str, budget: int) -> dict[str, PolicyOutcome]:
        chat = self._chats[conversation]
        if policy == CEILING:
            return {policy: self._ceiling(chat)}
        if policy in KEEPING:
            return self._lived(chat, policy, budget)
        return {policy: self._found(chat, policy, budget)}

    def _lived(self, chat: StreamedChat, policy: str, budget: int) -> dict[str, PolicyOutcome]:
        is_put = any(asked.number in self._put for asked in chat.asked)
        is_read = policy in NEED_ATTENTION or (policy == HALO and is_put)
        with closing(self._window(chat, KEEPING[policy], budget, is_read=is_read)) as lived:
            lived.live_through()
            base, context = lived.window.life.layout().placed, self._workshop.reading
            if policy == HALO and is_put:
                assert isinstance(lived.window.engine_context, LlamaContext)
                context = lived.window.engine_context
            elif is_put:
                with self._putting():
                    context.sync(base, clean=True)
            rows, reread = list[OutcomeRow](), list[OutcomeRow]()
            for asked in chat.asked:
                with lived.asked(asked.question.text) as layout:
                    situation = Situation.of(layout)
                rows.append(self._row(asked, situation, context, clean=False))
                if rows[-1].log_likelihood is not None:
                    with self._putting():
                        context.sync(base)
                if policy == HALO:
                    reread.append(self._row(asked, situation, self._workshop.reading, clean=True))
            per_turn = lived.decoded / max(1, lived.exchanges)
        if policy == HALO:
            return {HALO: PolicyOutcome(rows, per_turn), REREAD: PolicyOutcome(reread)}
        return {policy: PolicyOutcome(rows, per_turn)}

    def _found(self, chat: StreamedChat, policy: str, budget: int) -> PolicyOutcome:
        memory, reading = self._workshop.memory, self._workshop.reading
        with closing(self._window(chat, NOTHING_LIVES, budget)) as empty:

            def situation(text: str) -> Situation:
                if policy == "rag_time":
                    return in_order_of_time(empty, text)
                return appended(empty.window, memory, text, budget)

            lived = list[Situation]()
            for message, reply in exchanges(chat.tail):
                said = message or reply
                assert said is not None
                memory.until = said.start
                lived.append(situation(said.text))
            memory.until = chat.end
            rows = [self._row(asked, situation(asked.question.text), reading, clean=True) for asked in chat.asked]
            framed = len(self._opening) + len(self._closing)
            return PolicyOutcome(rows, decoded_per_exchange(chat, lived, framed))

    def _ceiling(self, chat: StreamedChat) -> PolicyOutcome:
        engine = self._workshop.engine
        with closing(self._window(chat, NOTHING_LIVES, engine.facts.usable_context)) as empty:
            ceiling = Ceiling(empty.window, chat)
            room = engine.facts.usable_context - len(self._opening) - len(self._closing) - ANSWER_TOKENS
            rows = []
            for asked in chat.asked:
                limit = room - len(engine.tokenize(asked.question.text))
                rows.append(self._row(asked, ceiling.around(asked, limit), self._workshop.reading, clean=True))
            return PolicyOutcome(rows)

    def _row(self, asked: AskedQuestion, situation: Situation, context: LlamaContext, *, clean: bool) -> OutcomeRow:
        likelihood = None
        if asked.number in self._put:
            engine = self._workshop.engine
            opening = [] if situation.opens_turn else self._opening
            question = [*opening, *engine.tokenize(asked.question.text), *self._closing]
            answer = engine.tokenize(str(asked.question.answer))[:ANSWER_TOKENS]
            with self._putting():
                likelihood = expectation(context, behind(situation.placed, question), answer, clean=clean)
        return OutcomeRow(asked.number, asked.percent_in(situation.keys), len(situation.placed), likelihood)

    @contextmanager
    def _putting(self) -> Iterator[None]:
        started = time.monotonic()
        yield
        self._seconds_put += time.monotonic() - started

    def _window(self, chat: StreamedChat, keeping: Keeping, budget: int, *, is_read: bool = False) -> PolicyWindow:
        workshop = self._workshop
        return PolicyWindow(workshop.engine, workshop.memory, workshop.settings, chat, keeping, budget, is_read=is_read)
