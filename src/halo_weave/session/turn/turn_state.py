"""The state of a turn in progress, and its result."""

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
    """What a turn cost. Times are in seconds since sending, except `after_reply_s`, which starts at the last token
    shown. `engine_s` is the model's own time up to then, and `reading_s` the part of it before the first step.

    With tool calls, the figures cover all rounds, except that `context`, `kept` and `restored` are those of the last.
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
    """`ending` is the reason why the model stopped writing."""

    turn: int
    text: str
    ending: str
    figures: Figures


@dataclass
class TurnState:
    """`said` is the assistant's text so far, including tool results; `problem` is why some steps did not change the
    brightness."""

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
        """Number of tokens that the model may still write."""
        return max(0, self.window.settings.generation.max_tokens - self.figures.generated)

    def tokens_reserved(self) -> int:
        """Number of tokens that the rest of the reply may take in the context, including its frame."""
        frames = self.window.life.frames
        opening = frames.opening("assistant", self.time, follows_gap=False)
        return self.tokens_left() + len(opening) + len(frames.closing("assistant", self.time))

    def metadata(self, marks: Mapping[str, Any] = {}) -> dict[str, object]:
        """The metadata of a chunk of this turn that also has these marks."""
        return metadata_of(self.window.id, self.window.engine.facts.name, {**self.marks, **marks})
