"""A turn under way: what its steps know, and what comes of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec

from halo_weave.engine.cancellation import Cancellation
from halo_weave.session.window.journal import Journal
from halo_weave.session.window.reviving import metadata_of
from halo_weave.session.window.window import Newest, Window
from halo_weave.weave.living import TurnKey


class Figures(msgspec.Struct):
    """What a turn took. Seconds count from sending, but `after_reply_s`, which counts from the last token shown;
    `engine_s` is what the model itself needed until then, `reading_s` its part before the first step.

    Where tools were called, all rounds count together; but `context`, `kept` and `restored` are the last one's.
    """

    context: int = 0
    new: int = 0
    resurrected: int = 0
    kept: int = 0
    restored: int = 0
    decoded: int = 0
    generated: int = 0
    malformed: int = 0
    search_s: float = 0.0
    reading_s: float = 0.0
    engine_s: float = 0.0
    first_token_s: float = 0.0
    reply_s: float = 0.0
    after_reply_s: float = 0.0


class Reply(msgspec.Struct, frozen=True):
    """`ending` is why the model stopped writing."""

    turn: int
    text: str
    ending: str
    figures: Figures


@dataclass
class TurnState:
    """`said` is what the assistant has said so far, its tools included; `problem` is why brightness did not change in
    some steps."""

    window: Window
    user: TurnKey
    assistant: TurnKey
    time: datetime
    marks: Mapping[str, Any]
    begun_at: float
    cancellation: Cancellation
    journal: Journal
    figures: Figures = field(default_factory=Figures)
    said: list[str] = field(default_factory=list)
    problem: str = ""

    @property
    def newest(self) -> Newest:
        """This turn's exchange, with the positions that its reply may still use."""
        newest = self.window.newest
        assert newest is not None
        assert newest.turn_assistant == self.assistant.turn
        return newest

    def tokens_left(self) -> int:
        """Tokens that the model may still write."""
        return max(0, self.window.settings.generation.max_tokens - self.figures.generated)

    def tokens_reserved(self) -> int:
        """Tokens that the rest of the reply may take up in the context, with its frame."""
        frames = self.window.life.frames
        opening = frames.opening("assistant", self.time, follows_gap=False)
        return self.tokens_left() + len(opening) + len(frames.closing("assistant", self.time))

    def metadata(self, marks: Mapping[str, Any] = {}) -> dict[str, object]:
        """What is noted of a chunk of this turn that has these marks of its own."""
        return metadata_of(self.window.id, self.window.engine.facts.name, {**self.marks, **marks})
