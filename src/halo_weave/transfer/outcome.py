"""What an export or import tells: how far it is, and what it did."""

from collections.abc import Callable
from typing import Literal, NamedTuple

import msgspec

BATCH = 256
"""How many chunks there are between two reports of progress."""


class Progress(NamedTuple):
    """Chunks done of all in this step; `total` is None where it is not known yet."""

    step: Literal["reading", "writing"]
    done: int
    total: int | None


ProgressCallback = Callable[[Progress], None]


class Exported(msgspec.Struct, frozen=True):
    """`deleted_chunks` are among `chunks`."""

    chunks: int
    deleted_chunks: int
    tokens: int
    bytes: int


class Imported(msgspec.Struct, frozen=True):
    """`present` chunks were in the memory already; `left_out_tokens` are a browser's system prompt.

    `is_renumbered` says that the chunks got other turns and positions than in the file, because those were not free.
    """

    source: Literal["halo-weave", "browser"]
    added: int
    present: int
    left_out_tokens: int = 0
    is_renumbered: bool = False


def no_progress(_: Progress) -> None:
    pass
