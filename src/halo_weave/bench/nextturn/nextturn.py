"""Does the context fit the conversation? Policies with the same budget go through the same chats, and the model tells
how much it expects the reply that was really given.

This needs no questions. A context that holds only what a search finds lacks the thread of the conversation, and one
that holds only the newest text lacks what the message refers to.
"""

import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, NamedTuple

from halo_weave.bench.conversations import read_conversations
from halo_weave.bench.nextturn.figures import NextTurnFigures, figures
from halo_weave.bench.policies.asking import KEEPING
from halo_weave.bench.policies.figures import BUDGETED, NEED_MODEL
from halo_weave.bench.policies.outcomes import (
    KeptOutcomes,
    OutcomeRow,
    PolicyOutcome,
    code_in_use,
    digest_of,
    settings_in_use,
)
from halo_weave.bench.policies.policies import BUDGETS, REPLAYED_TOKENS, spread
from halo_weave.bench.policies.reading import behind, expectation
from halo_weave.bench.policies.retrieval import NOTHING_LIVES, Situation, appended, in_order_of_time
from halo_weave.bench.policies.stream import StreamedChat, StreamedTurn, StreamMemory, open_stream_memory
from halo_weave.bench.policies.window import PolicyWindow, exchanges
from halo_weave.bench.policies.workers import remembered, with_own_threads
from halo_weave.bench.progress import Progress
from halo_weave.config import Settings
from halo_weave.engine import turns
from halo_weave.engine.llamacpp.context import LlamaContext
from halo_weave.engine.llamacpp.engine import LlamaEngine
from halo_weave.errors import InputError
from halo_weave.paths import cache_folder
from halo_weave.session.settings import WindowSettings

POLICIES = tuple(name for name in BUDGETED if name not in NEED_MODEL)
TURNS = 20
REPLY_TOKENS = 64
"""Only this many tokens of a reply count."""
LONGEST_MESSAGE = 1024
"""Replies to longer messages are left out, so that message and context fit together."""


class NextTurnChoice(NamedTuple):
    """`turns` is how many replies are measured, spread evenly over the second half of the last part of each chat, where
    every window is full; 0 for all of them."""

    budgets: Sequence[int] = BUDGETS
    turns: int = TURNS
    replayed: int = REPLAYED_TOKENS


class NextTurn(NamedTuple):
    """A reply by its chat and its number among the exchanges of the chat's last part."""

    conversation: str
    exchange: int


class _Job(NamedTuple):
    conversation: str
    policy: str
    budget: int


def run(
    settings: Settings, data: Path, choice: NextTurnChoice, on_progress: Progress = lambda _: None
) -> NextTurnFigures:
    if settings.engine.kind != "llamacpp":
        raise InputError(f"The engine {settings.engine.kind} runs outside this process; only llamacpp can be measured.")
    settings = with_own_threads(settings, 1)
    conversations = read_conversations(data)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="halo-bench-")))
        chats = remembered(folder, settings, conversations, choice.replayed, on_progress)
        chosen = sample(chats, choice.turns)
        circumstances = (code_in_use(), settings_in_use(settings), digest_of(data), choice.replayed, chosen)
        kept = stack.enter_context(closing(KeptOutcomes(cache_folder() / "bench-nextturn.db", *circumstances)))
        jobs = [
            _Job(chat.name, policy, budget)
            for chat in chats
            if any(chat.name == one.conversation for one in chosen)
            for budget in choice.budgets
            for policy in POLICIES
        ]
        if missing := [job for job in jobs if kept.get(*job) is None]:
            engine = stack.enter_context(closing(LlamaEngine(settings.engine)))
            memory = stack.enter_context(closing(open_stream_memory(folder, settings, lambda _: None)))
            memory.get_ready(conversations.turns[0].text)
            reading = engine.open_context(attention=None, flash_attention=False)
            expecting = Expecting(engine, memory, settings.window, reading)
            by_name = {chat.name: chat for chat in chats}
            for number, job in enumerate(missing, start=1):
                places = {one.exchange for one in chosen if one.conversation == job.conversation}
                kept.put(expecting.outcome(by_name[job.conversation], job.policy, job.budget, places), *job)
                on_progress(f"{number} of {len(missing)}: {job.conversation}: {job.policy}, {job.budget} tokens")
        outcomes = {job: outcome for job in jobs if (outcome := kept.get(*job)) is not None}
    likelihoods: dict[str, dict[str, list[float]]] = {
        str(budget): {policy: [] for policy in POLICIES} for budget in choice.budgets
    }
    for job, outcome in outcomes.items():
        found = (row.log_likelihood for row in outcome.rows)
        likelihoods[str(job.budget)][job.policy] += [one for one in found if one is not None]
    about: dict[str, Any] = {
        "data": data.name.partition(".")[0],
        "model": settings.engine.model or "bundled",
        "replayed_tokens": choice.replayed,
        "turns": len(chosen),
    }
    return figures(about, likelihoods)


def sample(chats: Sequence[StreamedChat], count: int) -> list[NextTurn]:
    """Return `count` replies, spread evenly over the second half of each chat's last part; 0 for all."""
    found = []
    for chat in chats:
        said = list(exchanges(chat.tail))
        places = range(len(said) // 2, len(said))
        found += [NextTurn(chat.name, place) for place in places if _can_be_measured(*said[place])]
    return [found[place] for place in spread(len(found), count or len(found))]


def _can_be_measured(message: StreamedTurn | None, reply: StreamedTurn | None) -> bool:
    if message is None or reply is None:
        return False
    return sum(chunk.token_count for chunk in message.chunks) <= LONGEST_MESSAGE


class Expecting:
    """Asks the model how much it expects the replies of a chat, each in the context that a policy offers."""

    def __init__(
        self, engine: LlamaEngine, memory: StreamMemory, settings: WindowSettings, reading: LlamaContext
    ) -> None:
        self._engine = engine
        self._memory = memory
        self._settings = settings
        self._reading = reading
        self._opening = turns.opening_tokens(engine, "user")
        self._closing = [*turns.closing_tokens(engine, "user"), *turns.opening_tokens(engine, "assistant")]

    def outcome(self, chat: StreamedChat, policy: str, budget: int, places: Collection[int]) -> PolicyOutcome:
        rows = []
        for place, situation in self._situations(chat, policy, budget, places):
            message, reply = list(exchanges(chat.tail))[place]
            assert message is not None
            assert reply is not None
            rows.append(OutcomeRow(place, 0.0, len(situation.placed), self._expected(situation, message, reply)))
        return PolicyOutcome(rows)

    def _expected(self, situation: Situation, message: StreamedTurn, reply: StreamedTurn) -> float:
        opening = [] if situation.opens_turn else self._opening
        said = [token for chunk in message.chunks for token in self._memory.tokens(chunk)]
        written = [token for chunk in reply.chunks for token in self._memory.tokens(chunk)][:REPLY_TOKENS]
        tokens = behind(situation.placed, [*opening, *said, *self._closing])
        return expectation(self._reading, tokens, written, clean=True)

    def _situations(
        self, chat: StreamedChat, policy: str, budget: int, places: Collection[int]
    ) -> Iterator[tuple[int, Situation]]:
        keeping = KEEPING.get(policy, NOTHING_LIVES)
        window = PolicyWindow(self._engine, self._memory, self._settings, chat, keeping, budget, is_read=False)
        with closing(window):
            if policy in KEEPING:
                contexts = enumerate(window.contexts())
                yield from ((place, Situation.of(layout)) for place, layout in contexts if place in places)
                return
            for place, (message, _) in enumerate(exchanges(chat.tail)):
                if place in places and message is not None:
                    self._memory.until = message.start
                    if policy == "rag_time":
                        yield place, in_order_of_time(window, message.text)
                    else:
                        yield place, appended(window.window, self._memory, message.text, budget)
