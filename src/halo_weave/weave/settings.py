"""The settings of a window's living context; each with its range and a sentence of help."""

from typing import Annotated, Literal

import msgspec

KeepsBy = Literal["worth", "brightness"]
ResurrectionBrightness = Literal["largest", "earned", "mean", "fixed"]


class WeaveSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    # Half: what a question brings back is worth more than what happens to live; `bench policies` shows it.
    budget_share: Annotated[
        float,
        msgspec.Meta(
            ge=0, le=1, description="Share of the usable context that living text may fill; 0 for no pruning."
        ),
    ] = 0.5
    budget_tokens: Annotated[
        int,
        msgspec.Meta(
            ge=0, le=16_777_216, description="Tokens that living text may fill; 0 to go by the share of the context."
        ),
    ] = 0
    keeps_by: Annotated[
        KeepsBy,
        msgspec.Meta(
            description="What stays in a full context: what is worth most (new words, names, who said it, brightness, "
            "wishes), or what is brightest."
        ),
    ] = "worth"
    recent_share: Annotated[
        float,
        msgspec.Meta(
            ge=0,
            le=1,
            description="Share of the budget for the newest exchanges, which leave last however little they are worth; "
            "for keeping by worth.",
        ),
    ] = 0.25
    current_turn_immune: Annotated[
        bool, msgspec.Meta(description="Whether the tokens of the turn under way neither fade nor gain brightness.")
    ] = True
    resurrection: Annotated[
        bool, msgspec.Meta(description="Whether related text returns from the memory with each message.")
    ] = True
    # 512: the model reads what returns before it writes its first word.
    resurrection_cap: Annotated[
        int,
        msgspec.Meta(
            ge=0,
            le=16_777_216,
            description="Tokens that may return with one message; 0 for all that there is room for.",
        ),
    ] = 512
    resurrection_brightness: Annotated[
        ResurrectionBrightness,
        msgspec.Meta(
            description="Brightness of what returns: earned before it was buried, mean of the context, "
            "fixed at 255, or the largest of these."
        ),
    ] = "largest"
    # A day: what was said in one sitting needs no date, and few turns follow a night.
    gap_marker_hours: Annotated[
        int,
        msgspec.Meta(
            ge=0, le=876_000, description="Hours between neighbours from which on the model is shown the date; 0 never."
        ),
    ] = 24
    # Off: it takes some twenty tokens a turn, and small models talk about the date; gaps are dated in any case.
    show_times: Annotated[bool, msgspec.Meta(description="Whether the model sees when each message was sent.")] = False

    def budget(self, usable_tokens: int) -> int:
        """What `pruning.plan` takes for a context of this size; 0 for no pruning."""
        if self.budget_tokens:
            return min(self.budget_tokens, usable_tokens)
        return max(1, int(self.budget_share * usable_tokens)) if self.budget_share else 0

    def recent_tokens(self, budget: int) -> int:
        """What the newest exchanges may fill of a budget before the rest of them has to prove its worth."""
        return int(self.recent_share * budget) if self.keeps_by == "worth" else 0
