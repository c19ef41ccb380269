"""The results of repairing the memory."""

from datetime import datetime
from typing import Any, NamedTuple

import msgspec


class SetAside(msgspec.Struct, frozen=True):
    """A damaged row that was removed: its table, what it was, what was wrong with it, and all its columns.

    Text that is not UTF-8 is given as bytes. `number` is 0 until the row is written.
    """

    number: int
    time: datetime
    source: str
    what: str
    problem: str
    content: dict[str, Any]


class Repaired(NamedTuple):
    """`mended` has a sentence for each thing that was rebuilt; `vectors` is the number of vectors to compute again."""

    set_aside: tuple[SetAside, ...] = ()
    mended: tuple[str, ...] = ()
    vectors: int = 0
