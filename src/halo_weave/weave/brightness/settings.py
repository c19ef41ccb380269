"""The settings of brightness, each with its range and a help sentence."""

from typing import Annotated, Literal

import msgspec

from halo_weave.weave.brightness.sink import Sink

ScorerName = Literal["magnitude_v3", "cumulative"]


class ScorerSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    scorer: Annotated[
        ScorerName, msgspec.Meta(description="How attention becomes brightness; docs/brightness.md compares the two.")
    ] = "magnitude_v3"
    sink: Annotated[
        Sink,
        msgspec.Meta(
            description="Which token is the attention sink, whose attention is ignored: the first token, or the one "
            "with the most attention in each step."
        ),
    ] = "first_token"
