"""Turns as tokens: a turn's opening and closing belong to the turn, so that a turn can come and go as one thing.

Only the pieces of the chat template may become control tokens. What a person or a model wrote never does, whatever
signs it contains.
"""

from collections.abc import Sequence

from halo_weave.engine.protocol import Engine, FinishReason, Token
from halo_weave.text.chat_template import Role


def start_tokens(engine: Engine) -> list[Token]:
    """What stands once before the first turn."""
    return _control(engine, engine.facts.chat_template.start)


def opening_tokens(engine: Engine, role: Role) -> list[Token]:
    """What opens a turn; for the assistant, what a reply about to be generated continues."""
    return _control(engine, engine.facts.chat_template.marks(role).opening)


def closing_tokens(engine: Engine, role: Role) -> list[Token]:
    return _control(engine, engine.facts.chat_template.marks(role).closing)


def turn_tokens(engine: Engine, role: Role, text: str) -> list[Token]:
    """A whole turn: opening, text, closing."""
    written = engine.tokenize(text) if text else []
    return [*opening_tokens(engine, role), *written, *closing_tokens(engine, role)]


def closed_reply(engine: Engine, reply: Sequence[Token], finish_reason: FinishReason) -> list[Token]:
    """A generated reply with the assistant's closing behind it.

    A token with which the model ended its turn gives way to the closing, which mostly begins with that same token: it
    never stands there twice, and a model that ended with another sign leaves the same turn as all others.
    """
    written = list(reply)
    if finish_reason == "end" and written and _ends_turn(engine, written[-1]):
        written.pop()
    return [*written, *closing_tokens(engine, "assistant")]


def _ends_turn(engine: Engine, token: Token) -> bool:
    special = engine.facts.special_tokens
    return not token.text or token.id in (special.eos, special.end_of_turn)


def _control(engine: Engine, piece: str) -> list[Token]:
    return engine.tokenize(piece, special=True) if piece else []
