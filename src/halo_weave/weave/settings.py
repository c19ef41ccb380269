"""The settings of a window's living context, each with its range and a help sentence."""

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec

KeepsBy = Literal["worth", "brightness"]
Recall = Literal["sparing", "balanced", "generous"]
LEAST_NEED: Mapping[Recall, float] = {"sparing": 0.01, "balanced": 0.003, "generous": 0.0003}
"""Text that is less likely to be needed does not return, even if it costs nothing."""
ResurrectionBrightness = Literal["largest", "earned", "mean", "fixed"]


BUDGET_SHARE = 0.5
"""Share of the usable context. The rest is for chunks that return, which are worth more than those that happen to
live; see `bench policies`."""


class WeaveSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    budget_tokens: Annotated[
        int,
        msgspec.Meta(
            ge=0,
            le=16_777_216,
            description="Tokens that may stay in the context between turns; 0 uses half of the context. Set it as "
            "large as the context to archive nothing until the context is full.",
        ),
    ] = 0
    keeps_by: Annotated[
        KeepsBy,
        msgspec.Meta(
            description="What stays in a full context: worth keeps what adds most (new words, names, the user's own "
            "words and wishes, brightness), brightness keeps what received most attention."
        ),
    ] = "worth"
    recent_share: Annotated[
        float,
        msgspec.Meta(
            ge=0,
            le=1,
            description="Share of the budget that is reserved for the newest exchanges when weave.keeps_by is worth. "
            "Raise it if the model loses the thread.",
        ),
    ] = 0.25
    current_turn_immune: Annotated[
        bool, msgspec.Meta(description="Do not change the brightness of the current turn until the reply is complete.")
    ] = True
    resurrection: Annotated[
        bool, msgspec.Meta(description="Bring related text back from the memory with each message.")
    ] = True
    recall: Annotated[
        Recall,
        msgspec.Meta(
            description="How readily text returns: sparing brings back only what a message very likely needs, generous "
            "also what it might need. The model reads what returns before it answers."
        ),
    ] = "balanced"
    least_need: Annotated[
        float,
        msgspec.Meta(
            ge=0,
            le=1,
            description="For experiments: text returns if the message needs it with at least this probability. 0 "
            "leaves it to weave.recall, which stands for 0.01, 0.003 or 0.0003.",
        ),
    ] = 0.0
    recall_tokens: Annotated[
        int,
        msgspec.Meta(
            ge=0,
            le=16_777_216,
            description="Most tokens from the memory that the model reads for one message; 0 sets no limit but the "
            "context. Text that the engine still holds comes back without being read and does not count.",
        ),
    ] = 1024
    resurrection_brightness: Annotated[
        ResurrectionBrightness,
        msgspec.Meta(
            description="Brightness of text that returns: earned is its brightness when it left, mean is the average "
            "of the context, fixed is 255, largest is the largest of the three."
        ),
    ] = "largest"
    # A day: text from one sitting needs no date, and few turns follow a night.
    gap_marker_hours: Annotated[
        int,
        msgspec.Meta(
            ge=0,
            le=876_000,
            description="Show the model a date when two neighbouring passages are at least this many hours apart; "
            "0 never shows one.",
        ),
    ] = 24
    # Off, because it costs about twenty tokens per turn and small models talk about the date; gaps are dated anyway.
    show_times: Annotated[
        bool,
        msgspec.Meta(
            description="Show the model when each message was sent. This costs about twenty tokens per message, and "
            "small models tend to talk about the date."
        ),
    ] = False

    def budget(self, usable_tokens: int) -> int:
        """The budget to pass to `pruning.plan` for a context of this size."""
        return min(self.budget_tokens, usable_tokens) or max(1, int(BUDGET_SHARE * usable_tokens))

    @property
    def floor(self) -> float:
        """The least need of text that returns."""
        return self.least_need or LEAST_NEED[self.recall]

    def recent_tokens(self, budget: int) -> int:
        """The part of a budget that is reserved for the newest exchanges; all other chunks are ranked by worth."""
        return int(self.recent_share * budget) if self.keeps_by == "worth" else 0
