"""Turns as tokens: a turn's opening and closing belong to the turn, so that a turn can come and go as one thing.

Only the pieces of the chat template may become control tokens. What a person or a model wrote never does, whatever
signs it contains.
"""

from halo_weave.engine.protocol import Engine
from halo_weave.records.roles import Role
from halo_weave.records.tokens import Token


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


def _control(engine: Engine, piece: str) -> list[Token]:
    return engine.tokenize(piece, special=True) if piece else []
