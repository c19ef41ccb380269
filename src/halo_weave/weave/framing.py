"""The tokens of the chat template that frame each turn, including the times that the model sees."""

from collections.abc import Sequence
from datetime import datetime, tzinfo
from functools import lru_cache

from halo_weave.engine import turns
from halo_weave.engine.protocol import Engine
from halo_weave.records.roles import Role
from halo_weave.records.tokens import Token

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
"""Not by strftime, which follows the locale of the program: the same text must always have the same tokens."""


class ChatFrames:
    """With `shows_times`, the time follows each user message. A turn after a gap is dated in any case. Times are in
    `zone`.

    Small models take a date before a question for part of the question and answer strangely. A date after the question
    does not confuse them.
    """

    def __init__(self, engine: Engine, system_prompt: str, *, shows_times: bool, zone: tzinfo | None = None) -> None:
        self._engine = engine
        self._shows_times = shows_times
        self._zone = zone
        system = turns.turn_tokens(engine, "system", system_prompt) if system_prompt else []
        self._beginning = [*turns.start_tokens(engine), *system]
        self._opened = lru_cache(maxsize=4096)(self._tokens_of_opening)
        self._closed = lru_cache(maxsize=4096)(self._tokens_of_closing)

    @property
    def beginning(self) -> Sequence[Token]:
        return self._beginning

    def opening(self, role: Role, time: datetime, *, follows_gap: bool) -> Sequence[Token]:
        role = _speaker(role)
        is_dated = follows_gap and role != "user"
        return self._opened(role, f"[{_date(time.astimezone(self._zone))}] " if is_dated else "")

    def closing(self, role: Role, time: datetime, *, follows_gap: bool = False) -> Sequence[Token]:
        role, said = _speaker(role), time.astimezone(self._zone)
        if role != "user" or not (self._shows_times or follows_gap):
            return self._closed(role, "")
        return self._closed(role, f"\n({_date(said)}{f', {said:%H:%M}' if self._shows_times else ''})")

    def _tokens_of_closing(self, role: Role, date: str) -> tuple[Token, ...]:
        written = self._engine.tokenize(date) if date else []
        return *written, *turns.closing_tokens(self._engine, role)

    def _tokens_of_opening(self, role: Role, date: str) -> tuple[Token, ...]:
        written = self._engine.tokenize(date) if date else []
        return *turns.opening_tokens(self._engine, role), *written


def _date(time: datetime) -> str:
    """Ten tokens instead of sixteen where each digit is one, and no doubt which number is the month."""
    return f"{time.day} {_MONTHS[time.month - 1]} {time.year}"


def _speaker(role: Role) -> Role:
    """A chunk with the system role came from an imported file; only the window itself has a system prompt."""
    return "user" if role == "system" else role
