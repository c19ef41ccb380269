"""Settings of the memory itself, each with its range and help text."""

from pathlib import Path
from typing import Annotated

import msgspec

from halo_weave.paths import memory_file
from halo_weave.text.chunking import MIN_TOKENS


class MemorySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[
        str, msgspec.Meta(description="File that holds the memory; empty uses halo.db in the data folder.")
    ] = ""
    chunk_min_tokens: Annotated[
        int,
        msgspec.Meta(
            ge=1,
            le=100_000,
            description="A chunk ends at the first paragraph break after this many tokens. Lower it so that text "
            "leaves and returns in smaller pieces.",
        ),
    ] = MIN_TOKENS
    chunk_max_tokens: Annotated[
        int,
        msgspec.Meta(
            ge=0,
            le=1_000_000,
            description="Split chunks that are longer than this many tokens, inside code blocks only if necessary; "
            "0 never splits. Set it if long paragraphs crowd out other text.",
        ),
    ] = 0

    @property
    def file(self) -> Path:
        return Path(self.path).expanduser().absolute() if self.path else memory_file()
