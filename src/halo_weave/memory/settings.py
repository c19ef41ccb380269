"""The settings of the memory itself; each with its range and a sentence of help."""

from pathlib import Path
from typing import Annotated

import msgspec

from halo_weave.memory.vectors.index import EXACT_UP_TO_CHUNKS
from halo_weave.paths import memory_file
from halo_weave.text.chunking import MIN_TOKENS


class MemorySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    path: Annotated[
        str, msgspec.Meta(description="Path of the memory's file; empty for halo.db in the data folder.")
    ] = ""
    chunk_min_tokens: Annotated[
        int, msgspec.Meta(ge=1, le=100_000, description="A chunk ends at a paragraph once it has so many tokens.")
    ] = MIN_TOKENS
    chunk_max_tokens: Annotated[
        int,
        msgspec.Meta(
            ge=0, le=1_000_000, description="Longer chunks are divided, code blocks only if need be; 0 never divides."
        ),
    ] = 0
    exact_up_to_chunks: Annotated[
        int,
        msgspec.Meta(
            ge=0, le=10_000_000, description="Up to so many chunks are compared one by one, more through an index file."
        ),
    ] = EXACT_UP_TO_CHUNKS

    @property
    def file(self) -> Path:
        return Path(self.path).expanduser().absolute() if self.path else memory_file()
