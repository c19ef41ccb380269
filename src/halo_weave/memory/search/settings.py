"""The settings of the search; each with its range and a sentence of help."""

from typing import Annotated

import msgspec


class SearchSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    user_boost: Annotated[
        float,
        msgspec.Meta(ge=0.1, le=10, description="Factor on the odds of what a user said; 1 treats all alike."),
    ] = 1.5
    wish_boost: Annotated[
        float,
        msgspec.Meta(
            ge=1,
            le=100,
            description="Factor on the odds of the closest wishes of a user, such as “always …”; 1 treats all alike.",
        ),
    ] = 4.5
    candidates: Annotated[
        int,
        msgspec.Meta(
            ge=10,
            le=10_000,
            description="Chunks that meaning and words each put forward, at least; their neighbours come with them.",
        ),
    ] = 64
    common_words_share: Annotated[
        float,
        msgspec.Meta(gt=0, le=1, description="Words in more than this share of all chunks are not looked for."),
    ] = 0.5  # BM25 itself gives nothing to words that more than half of all chunks have
