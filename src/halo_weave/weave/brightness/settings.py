"""The settings of the brightness; each with its range and a sentence of help."""

from typing import Annotated, Literal

import msgspec

from halo_weave.weave.brightness.sink import Sink

ScorerName = Literal["magnitude_v3", "cumulative"]


class ScorerSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    scorer: Annotated[
        ScorerName, msgspec.Meta(description="How attention becomes brightness; docs/brightness.md tells them apart.")
    ] = "magnitude_v3"
    sink: Annotated[
        Sink, msgspec.Meta(description="Which token's attention means nothing: the first, or the one with the most.")
    ] = "first_token"
    half_life: Annotated[
        int, msgspec.Meta(ge=1, le=1_000_000, description="cumulative: steps after which attention counts half.")
    ] = 512
    half_weight_distance: Annotated[
        int,
        msgspec.Meta(
            ge=0,
            le=1_000_000,
            description="cumulative: tokens of distance at which attention counts half; 0 counts all alike.",
        ),
    ] = 64
