"""Tokens of turns. A turn includes its opening and closing marks, so it can enter and leave a context as one unit.

Only the marks of the chat template become control tokens. Text written by a person or a model never does, whatever
marks it contains.
"""

from halo_weave.engine.protocol import Engine
from halo_weave.records.roles import Role
from halo_weave.records.tokens import Token


def start_tokens(engine: Engine) -> list[Token]:
    """Return the tokens that come once, before the first turn."""
    return _control(engine, engine.facts.chat_template.start)


def opening_tokens(engine: Engine, role: Role) -> list[Token]:
    """Return the tokens that open a turn. A reply continues those of the assistant."""
    return _control(engine, engine.facts.chat_template.marks(role).opening)


def closing_tokens(engine: Engine, role: Role) -> list[Token]:
    return _control(engine, engine.facts.chat_template.marks(role).closing)


def turn_tokens(engine: Engine, role: Role, text: str) -> list[Token]:
    """Return the tokens of a whole turn: opening, text, closing."""
    written = engine.tokenize(text) if text else []
    return [*opening_tokens(engine, role), *written, *closing_tokens(engine, role)]


def _control(engine: Engine, piece: str) -> list[Token]:
    return engine.tokenize(piece, special=True) if piece else []
