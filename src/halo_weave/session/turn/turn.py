"""The turn: all of its steps, in their order. Sending, asking again, continuing and rewriting are paths through them.

A message is refused before anything is reserved, durable before it is shown, and answered with what matters of
everything ever said. The reply is noted down while it comes and durable before it is called done. What can wait until
the reply is there waits: embedding, and burying down to the budget.
"""

import time as clocks
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from halo_weave.engine.cancellation import Cancellation
from halo_weave.errors import InputError
from halo_weave.records.chunks import Chunk
from halo_weave.records.tokens import Token
from halo_weave.session.turn.capacity import (
    TokenisedText,
    make_room,
    new_tokens,
    plan_room,
    prune_to_budget,
    require_room_for_both,
    tokenised,
)
from halo_weave.session.turn.generation import GeneratedReply, Generation, digest
from halo_weave.session.turn.recalling import plan_context, with_preview
from halo_weave.session.turn.tool_rounds import ToolRounds
from halo_weave.session.turn.turn_state import Figures, Reply, TurnState
from halo_weave.session.turn.writing import write_alive
from halo_weave.session.window.chunk_json import chunk_to_json
from halo_weave.session.window.context_usage import context_usage
from halo_weave.session.window.deleting import SUPERSEDED, chunks_of, delete_exchange, text_of
from halo_weave.session.window.events import Event
from halo_weave.session.window.external_changes import apply_external_changes
from halo_weave.session.window.reviving import marks_of
from halo_weave.session.window.titles import free_name, title_of
from halo_weave.session.window.window import Newest, Window
from halo_weave.session.window.words import Positions, Word, cut, placed
from halo_weave.weave.brightness_tracker import BrightnessTracker
from halo_weave.weave.composing import ContextPlan
from halo_weave.weave.layout import OpenTurn
from halo_weave.weave.living import TurnKey

FOR_FRAMES, FOR_SAFETY = 32, 128
"""Positions that are reserved beyond the message and the longest reply."""
EDITED = "edited"
"""The entry of a chunk's metadata that marks a reply in a person's words."""


def send(
    window: Window,
    message: str | TokenisedText,
    marks: Mapping[str, Any] | None = None,
    *,
    cancellation: Cancellation | None = None,
) -> Reply:
    """Say something in a window and have it answered; `marks` are noted with both."""
    with working(window, "answering", cancellation) as cancellation:
        return ask(window, message, marks or {}, cancellation)


def send_pending(window: Window, *, cancellation: Cancellation | None = None) -> Reply | None:
    """Send the first of the messages that wait, if one still does. It waits until it is in the memory, so that a
    refused message can be changed or withdrawn."""
    if not window.pending.messages:
        return None
    first = window.pending.messages[0]

    def note(event: Event) -> None:
        if event.kind == "message":
            window.pending.note_sent(first.id)

    window.log.listen(note)
    try:
        return send(window, first.text, cancellation=cancellation)
    finally:
        window.log.stop_listening(note)


@contextmanager
def working(window: Window, doing: str, cancellation: Cancellation | None) -> Iterator[Cancellation]:
    """The window's work for a turn, after what others did to it meanwhile."""
    with window.working(doing, cancellation) as given:
        apply_external_changes(window)
        yield given


def ask(
    window: Window,
    message: str | TokenisedText,
    marks: Mapping[str, Any],
    cancellation: Cancellation,
    *,
    supersedes: int | None = None,
) -> Reply:
    """The steps of a turn, for somebody who is at work on the window; in the place of the exchange whose question is
    `supersedes`, if any."""
    begun_at, time = clocks.perf_counter(), window.clock()
    text, tokens, _ = tokenised(window, message)
    new = new_tokens(window, tokens, time)
    room = plan_room(window, new, without=[] if supersedes is None else _exchange(supersedes, supersedes + 1))

    if supersedes is not None:
        delete_exchange(window, supersedes, SUPERSEDED)
    window.life.hold(())
    positions, newest = _reserve(window, len(tokens))
    figures = Figures(new=new)
    plan = _compose(window, text, tokens, figures, room.tokens, before=positions.at(0), cancellation=cancellation)

    user, assistant = _exchange(newest.turn_user, newest.turn_assistant)
    journal = window.begin_turn(newest, time, marks)
    turn = TurnState(window, user, assistant, time, marks, begun_at, cancellation, journal, figures)
    _write_message(turn, placed(tokens, positions))
    window.count_message()
    window.set_newest(newest)
    window.life.hold(newest.turns)
    window.life.compose(plan)
    figures.resurrected = plan.returned_tokens
    window.save()
    return _answer(turn)


def continue_reply(window: Window, *, cancellation: Cancellation | None = None) -> Reply:
    """Let the model write on where its newest reply ended, or begin one if there is none."""
    with working(window, "continuing", cancellation) as cancellation:
        begun_at, newest = clocks.perf_counter(), window.newest
        if newest is None or not window.life.context.of_turn(TurnKey(newest.turn_user, "user")):
            raise InputError(f"The window {window.name} has no reply to continue.")
        user, assistant = _exchange(newest.turn_user, newest.turn_assistant)
        written = window.life.context.of_turn(assistant)
        if not written and chunks_of(window, assistant):
            raise InputError(f"The newest reply in the window {window.name} is archived; bring it back to continue it.")
        time = written[0].time if written else window.clock()
        opening = window.life.frames.opening("assistant", time, follows_gap=False)
        make_room(window, plan_room(window, len(opening), current=newest.turns), newest.turns)
        journal = window.begin_turn(newest, time, {})
        return _answer(TurnState(window, user, assistant, time, {}, begun_at, cancellation, journal))


def rewrite(window: Window, reply: str) -> int:
    """Put a person's words in the place of the newest reply; gives the turn of it from now on. The model is not asked.

    The new exchange is durable before the earlier one is superseded. A crash in between is brought to its end when the
    window is opened: the journal knows which exchange takes the place of which.
    """
    before = window.newest
    question = answer = list[Chunk]()
    if before is not None:
        question, answer = (chunks_of(window, one) for one in _exchange(before.turn_user, before.turn_assistant))
    if before is None or not question or not answer:
        raise InputError(f"The window {window.name} has no reply to edit.")
    tokens = tokenised(window, reply, name="reply", done="changed").tokens
    if reply == text_of(answer):
        return before.turn_assistant
    asked, time = window.engine.tokenize(text_of(question)), question[0].time
    require_room_for_both(window, asked, tokens, time)

    positions, newest = _reserve(window, len(asked) + len(tokens))
    user, assistant = _exchange(newest.turn_user, newest.turn_assistant)
    journal = window.begin_turn(newest, time, {}, supersedes=before.turn_user)
    turn = TurnState(window, user, assistant, time, {}, clocks.perf_counter(), Cancellation(), journal)
    words = placed([*asked, *tokens], positions)
    noted = {name: value for name, value in marks_of(answer[0]).items() if name != "ending"}
    chunks = [
        *_cut(turn, user, words[: len(asked)], marks_of(question[0])),
        *_cut(turn, assistant, words[len(asked) :], {**noted, EDITED: True}),
    ]
    window.write(chunks)
    _let_live_instead(window, chunks, before, newest)
    window.end_turn()
    return newest.turn_assistant


def _reserve(window: Window, tokens: int) -> tuple[Positions, Newest]:
    """Positions for so many tokens and the longest reply, and the exchange that is to have them."""
    longest = window.settings.generation.max_tokens
    reservation = window.memory.reserve(tokens + longest + FOR_FRAMES + FOR_SAFETY)
    positions = Positions(window.memory, reservation.position_start, reservation.position_end)
    return positions, Newest(reservation.turn_user, reservation.turn_assistant, *positions.rest(tokens))


def _compose(
    window: Window,
    text: str,
    tokens: list[Token],
    figures: Figures,
    budget: int,
    *,
    before: int,
    cancellation: Cancellation,
) -> ContextPlan:
    """The context for the message, which comes on top of the budget; what returns is from before its own position."""
    started = clocks.perf_counter()
    query = text
    if window.settings.weave.resurrection and not cancellation.is_cancelled:
        window.log.tell("status", text="searching the memory")
        query = with_preview(window, text, tokens, cancellation)
    plan = plan_context(window, query, budget, before, cancellation=cancellation)
    if window.life.size() > budget:
        window.log.tell("notice", text=f"The context is full: {len(plan.leaves)} chunks were archived to make room.")
    figures.search_s = clocks.perf_counter() - started
    return plan


def _write_message(turn: TurnState, words: list[Word]) -> None:
    window = turn.window
    chunks = _cut(turn, turn.user, words)
    window.write(chunks)
    with window.life.lock:
        living = [window.life.reviver.fresh(chunk, chunk.tokens()) for chunk in chunks]
        window.life.add(living)
        window.log.tell("message", chunks=[chunk_to_json(chunk) for chunk in living])


def _answer(turn: TurnState) -> Reply:
    """Let the model write, and its tools answer, until it ends; then what can wait."""
    window, figures, tools = turn.window, turn.figures, ToolRounds(turn)
    written = _write_round(turn, tools.hear)
    while written.ending == "tool":
        tools.carry_out()
        written = _write_round(turn, tools.hear)
    replied_at = clocks.perf_counter()

    _entitle(turn)
    prune_to_budget(window)
    if figures.malformed and window.engine.facts.abilities.attention.available:
        steps = f"{figures.malformed} of {figures.generated} steps"
        window.log.tell("notice", text=f"Brightness was not updated in {steps}: {turn.problem}.")
    if tools.is_open:
        window.log.tell("notice", text="The reply contains an unfinished tool call; it was kept as text.")
    window.end_turn()
    figures.after_reply_s = clocks.perf_counter() - replied_at
    window.log.tell("stats", **msgspec.to_builtins(figures), **context_usage(window))
    if written.failure is not None:
        window.log.tell("error", text=str(written.failure))
        raise written.failure
    return Reply(turn.assistant.turn, "".join(turn.said), written.ending, figures)


def _entitle(turn: TurnState) -> None:
    """Name the window after its first message, if nobody has named it."""
    window = turn.window
    title = title_of(text_of(chunks_of(window, turn.user))) if window.is_name_automatic else ""
    if title:
        taken = {outline.name for outline in window.memory.window_store.windows() if outline.id != window.id}
        window.take_title(free_name(title, taken))


def _write_round(turn: TurnState, hear: Callable[[str], bool]) -> GeneratedReply:
    """The model reads, writes until it ends or calls a tool, and what it wrote is durable. `hear` is given each piece
    of text, and ends the round where it says so."""
    window, left = turn.window, turn.tokens_left()
    immune = window.settings.weave.current_turn_immune
    earlier = window.life.context.of_turn(turn.assistant)
    positions = Positions(window.memory, turn.newest.free_from, turn.newest.free_to)
    opened = OpenTurn(turn.assistant, earlier[0].turn_start if earlier else positions.at(0), turn.time)
    window.life.prune(max(1, window.usable_tokens - turn.tokens_reserved()))
    layout = window.life.layout(opened)
    tracker = BrightnessTracker(
        window.scorer, layout, current=window.life.current if immune else (), room=left, scores_new=not immune
    )
    window.begin_writing()
    if left and len(layout.placed) < window.usable_tokens:
        with turn.journal:
            written = Generation(turn, layout, opened, positions, tracker, hear).run(left)
    else:
        written = GeneratedReply("length")
    with window.life.lock:
        tracker.settle()
        window.log.tell("brightness", **digest(tracker))
    turn.problem = tracker.last_problem or turn.problem
    turn.said.append(written.text)

    ending = {} if written.ending in ("end", "tool") else {"ending": written.ending}
    living = write_alive(turn, written.words, ending, earned=tracker.new_state())
    with window.life.lock:
        window.life.add(living)
        window.end_writing()
        kept = [chunk_to_json(chunk) for chunk in living]
        if written.ending == "tool":
            window.log.tell("written", chunks=kept)
        else:
            window.log.tell("reply", chunks=kept, ending=written.ending)
    window.use_positions(positions, len(written.words))
    return written


def _let_live_instead(window: Window, chunks: list[Chunk], before: Newest, newest: Newest) -> None:
    """These in the place of the exchange before. What was pinned there is pinned here if its words are the same."""
    pinned = {chunk.text for chunk in window.life.context if chunk.is_pinned and chunk.turn in before.turns}
    delete_exchange(window, before.turn_user, SUPERSEDED)
    with window.life.lock:
        living = [window.life.reviver.fresh(chunk, chunk.tokens()) for chunk in chunks]
        for chunk in living:
            chunk.is_pinned = chunk.text in pinned
        window.life.add(living)
        window.set_newest(newest)
        window.life.hold(newest.turns)
        window.log.tell("edited", chunks=[chunk_to_json(chunk) for chunk in living])
    window.life.prune(window.usable_tokens)
    prune_to_budget(window)


def _cut(turn: TurnState, key: TurnKey, words: Sequence[Word], marks: Mapping[str, Any] = {}) -> list[Chunk]:
    return cut(words, key, first_index=0, time=turn.time, metadata=turn.metadata(marks), sizes=turn.window.sizes)


def _exchange(turn_user: int, turn_assistant: int) -> tuple[TurnKey, TurnKey]:
    return TurnKey(turn_user, "user"), TurnKey(turn_assistant, "assistant")
