"""The turn: the one place that knows the order of its steps.

A message is refused before anything is reserved, durable before it is shown, and answered with what matters of
everything ever said. The reply is noted down while it comes and durable before it is called done. What can wait until
the reply is there waits: embedding, and burying down to the budget.
"""

import time as clocks
from collections.abc import Mapping
from typing import Any

import msgspec

from halo_weave.engine.cancellation import Cancellation
from halo_weave.errors import InputError
from halo_weave.session.turn.capacity import make_room, new_tokens, prune_to_budget, tokens_of
from halo_weave.session.turn.recalling import NOTHING, plan_recall, with_preview
from halo_weave.session.turn.replying import Figures
from halo_weave.session.turn.rounds import write_round
from halo_weave.session.turn.tool_rounds import ToolRounds
from halo_weave.session.turn.turn_state import Exchange
from halo_weave.session.window.chunk_json import described
from halo_weave.session.window.context_usage import filling
from halo_weave.session.window.deleting import chunks_of
from halo_weave.session.window.external_changes import catch_up
from halo_weave.session.window.journal import Journal
from halo_weave.session.window.reviving import metadata_of
from halo_weave.session.window.window import Newest, Window
from halo_weave.session.window.words import Positions, Word, cut, placed
from halo_weave.weave.living import TurnKey
from halo_weave.weave.resurrection import universal_budget

FOR_FRAMES, FOR_SAFETY = 32, 128
"""Positions that are reserved beyond the message and the longest reply."""


class Reply(msgspec.Struct, frozen=True):
    """`ending` is why the model stopped writing."""

    turn: int
    text: str
    ending: str
    figures: Figures


def send(
    window: Window, text: str, marks: Mapping[str, Any] | None = None, *, cancellation: Cancellation | None = None
) -> Reply:
    """Say something in a window and have it answered; `marks` are noted with both."""
    with window.working("answering", cancellation) as cancellation:
        return exchange(window, text, marks or {}, cancellation)


def exchange(window: Window, text: str, marks: Mapping[str, Any], cancellation: Cancellation) -> Reply:
    """The same for somebody who is working on the window already."""
    begun_at, time = clocks.perf_counter(), window.clock()
    tokens = tokens_of(window, text)
    longest = window.settings.generation.max_tokens
    catch_up(window)
    new = new_tokens(window, tokens, time)
    make_room(window, new, current=frozenset())

    reservation = window.memory.reserve(len(tokens) + longest + FOR_FRAMES + FOR_SAFETY)
    user, assistant = TurnKey(reservation.turn_user, "user"), TurnKey(reservation.turn_assistant, "assistant")
    under_way = Exchange(user, assistant, time, marks, begun_at, cancellation, Figures(new=new))

    searching_at = clocks.perf_counter()
    cap = window.settings.weave.resurrection_cap
    budget = universal_budget(window.usable_tokens, window.life.size(), new, longest, cap=cap)
    plan = NOTHING
    if window.settings.weave.resurrection and budget > 0 and not cancellation.is_cancelled:
        window.log.tell("status", text="searching the memory")
        message = with_preview(window, text, tokens, cancellation)
        plan = plan_recall(window, message, budget, before=reservation.position_start, cancellation=cancellation)
    under_way.figures.search_s = clocks.perf_counter() - searching_at

    journal = window.journal = Journal(window.memory.store, window.id, assistant.turn)
    journal.begin(user.turn, time, dict(marks))
    positions = Positions(window.memory, reservation.position_start, reservation.position_end)
    _write_message(window, under_way, placed(tokens, positions))
    window.messages += 1
    window.newest = Newest(user.turn, assistant.turn, *positions.rest(len(tokens)))
    window.life.current = frozenset((user, assistant))
    window.life.revive(plan)
    under_way.figures.resurrected = plan.tokens
    window.save()
    return _answer(window, under_way, journal)


def continue_reply(window: Window, *, cancellation: Cancellation | None = None) -> Reply:
    """Let the model write on where its newest reply ended, or begin one if there is none."""
    with window.working("continuing", cancellation) as cancellation:
        begun_at = clocks.perf_counter()
        catch_up(window)
        newest = window.newest
        if newest is None or not window.life.context.of_turn(TurnKey(newest.turn_user, "user")):
            raise InputError(f"There is no reply in the window {window.name} that could be continued.")
        user, assistant = TurnKey(newest.turn_user, "user"), TurnKey(newest.turn_assistant, "assistant")
        written = window.life.context.of_turn(assistant)
        if not written and chunks_of(window, assistant):
            raise InputError(f"The newest reply in the window {window.name} is buried; bring it back to continue it.")
        time = written[0].time if written else window.clock()
        under_way = Exchange(user, assistant, time, {}, begun_at, cancellation)
        make_room(window, len(window.life.frames.opening("assistant", time, follows_gap=False)), {user, assistant})
        journal = window.journal = Journal(window.memory.store, window.id, assistant.turn)
        journal.begin(user.turn, time, {})
        return _answer(window, under_way, journal)


def _write_message(window: Window, under_way: Exchange, words: list[Word]) -> None:
    chunks = cut(
        words,
        under_way.user,
        first_index=0,
        time=under_way.time,
        metadata=metadata_of(window.id, window.engine.facts.name, under_way.marks),
        sizes=window.sizes,
    )
    window.unembedded += window.memory.write(chunks)
    with window.life.looking:
        living = [window.life.reviver.fresh(chunk, chunk.tokens()) for chunk in chunks]
        window.life.add(living)
        window.log.tell("message", chunks=[described(chunk) for chunk in living])


def _answer(window: Window, exchange: Exchange, journal: Journal) -> Reply:
    """Let the model write, and its tools answer, until it ends; then what can wait."""
    tools, figures = ToolRounds(window, exchange, journal), exchange.figures
    written = write_round(window, exchange, journal, tools.hear)
    while written.ending == "tool":
        tools.carry_out()
        written = write_round(window, exchange, journal, tools.hear)
    replied_at = clocks.perf_counter()

    prune_to_budget(window)
    journal.clear()
    window.journal = None
    if figures.malformed and window.engine.facts.abilities.attention.available:
        steps = f"{figures.malformed} of {figures.generated} steps"
        window.log.tell("notice", text=f"The brightness did not change in {steps}: {exchange.problem}.")
    if tools.is_open:
        window.log.tell("notice", text="The reply begins to call a tool and never ends the call; it is left as text.")
    window.memory.embed_later(window.take_unembedded())
    figures.after_reply_s = clocks.perf_counter() - replied_at
    window.log.tell("stats", **msgspec.to_builtins(figures), **filling(window))
    if written.failure is not None:
        window.log.tell("error", text=str(written.failure))
        raise written.failure
    return Reply(exchange.assistant.turn, "".join(exchange.said), written.ending, figures)
