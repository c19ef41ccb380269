"""Settings of the search, each with its range and help text."""

from typing import Annotated

import msgspec


class SearchSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    user_boost: Annotated[
        float,
        msgspec.Meta(
            ge=0.1,
            le=10,
            description="How much likelier a user's message is found than a reply, as a factor; 1 prefers neither.",
        ),
    ] = 1.5
    wish_boost: Annotated[
        float,
        msgspec.Meta(
            ge=1,
            le=100,
            description="How much likelier a user's lasting wishes (“always …”, “never …”) are found when they are "
            "close to the question, as a factor; 1 gives them no preference.",
        ),
    ] = 4.5
