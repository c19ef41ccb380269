"""Checks and makes space in the context for new text; text that cannot fit is rejected before anything changes."""

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple

from halo_weave.engine.protocol import Engine
from halo_weave.errors import InputError
from halo_weave.records.tokens import Token
from halo_weave.session.window.window import Window
from halo_weave.weave.living import TurnKey
from halo_weave.weave.pruning import PruningPlan


class TokenisedText(NamedTuple):
    """A text and its tokens for one engine."""

    text: str
    tokens: list[Token]
    engine: Engine


class Room(NamedTuple):
    """`tokens` is how many may live beside the new text and the reply; `plan` is the pruning that this requires."""

    tokens: int
    plan: PruningPlan


def tokenised(window: Window, text: str | TokenisedText, *, name: str = "message", done: str = "sent") -> TokenisedText:
    """Tokenise a text. Raises InputError, which says that nothing was `done`, if it is empty or not valid Unicode."""
    if isinstance(text, TokenisedText):
        if text.engine is window.engine:
            return text
        text = text.text
    if not text.strip():
        raise InputError(f"The {name} is empty; nothing was {done}.")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"The {name} has an unpaired surrogate at index {error.start}; nothing was {done}.") from None
    return TokenisedText(text, window.engine.tokenize(text), window.engine)


def new_tokens(window: Window, tokens: list[Token], time: datetime) -> int:
    """The number of tokens that a message adds to the context before the reply starts."""
    frames = window.life.frames
    question = len(frames.opening("user", time, follows_gap=False)) + len(frames.closing("user", time))
    return question + len(tokens) + len(frames.opening("assistant", time, follows_gap=False))


def require_room(window: Window, text: str) -> TokenisedText:
    """Reject a message that could not be sent now; otherwise return it tokenised."""
    message = tokenised(window, text)
    plan_room(window, new_tokens(window, message.tokens, window.clock()))
    return message


def require_room_for_both(window: Window, question: list[Token], reply: list[Token], time: datetime) -> None:
    """Reject an exchange that does not fit beside the pinned chunks."""
    frames, usable = window.life.frames, window.usable_tokens
    new = new_tokens(window, question, time) + len(reply) + len(frames.closing("assistant", time))
    plan = window.life.plan_pruning(max(1, usable - new), current=frozenset())
    if plan.held_by is not None or new >= usable:
        raise InputError(
            f"The reply does not fit in the context of {usable} tokens: {new} for the reply and its question, "
            f"{len(frames.beginning)} for the system prompt, {_pinned(plan)} for pinned text. Nothing was changed. "
            "Shorten the reply, or unpin something."
        )


def plan_room(
    window: Window, new: int, *, current: Collection[TurnKey] = (), without: Collection[TurnKey] = ()
) -> Room:
    """Plan space for this many new tokens and the longest reply, with the turns in `without` removed. Chunks of the
    `current` turns stay. Raises InputError if the space is not enough."""
    usable, longest = window.usable_tokens, window.settings.generation.max_tokens
    frames = window.life.frames
    tokens = usable - new - longest - len(frames.closing("assistant", window.clock()))
    plan = window.life.plan_pruning(max(1, tokens), current, without=without)
    if plan.held_by is not None or tokens < 1:
        held = plan.held_by.current if plan.held_by else 0
        raise InputError(
            f"The message does not fit in the context of {usable} tokens: {new + held} for the message, "
            f"{len(frames.beginning)} for the system prompt, {_pinned(plan)} for pinned text, {longest} for the "
            "longest reply. Nothing was sent. Shorten the message, unpin something, lower generation.max_tokens, or "
            "raise engine.context_tokens."
        )
    return Room(tokens, plan)


def make_room(window: Window, room: Room, current: Collection[TurnKey] = ()) -> None:
    """Carry out the plan, and protect the `current` turns from now on."""
    window.life.hold(current)
    if room.plan.burials:
        burials = len(room.plan.burials)
        window.log.tell("notice", text=f"The context is full: {burials} chunks were archived to make room.")
        window.life.carry_out(room.plan)
        window.life.prune(room.tokens)  # the plan ignores dates at gaps, which may need a little more


def prune_to_budget(window: Window) -> None:
    """Prune to the budget and save the window."""
    held_by = window.life.prune(window.budget)
    if held_by is not None:
        window.log.tell("notice", text=str(held_by))
    window.save()


def _pinned(plan: PruningPlan) -> int:
    return plan.held_by.pinned + plan.held_by.anchors if plan.held_by else 0
