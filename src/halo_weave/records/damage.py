"""What a repair of the memory tells."""

from datetime import datetime
from typing import Any, NamedTuple

import msgspec


class SetAside(msgspec.Struct, frozen=True):
    """A damaged row that was taken out: from which table, what it was, what was wrong with it, and all its columns.

    A text that is not UTF-8 is given as the bytes it consists of. `number` is 0 as long as nothing was written.
    """

    number: int
    time: datetime
    source: str
    what: str
    problem: str
    content: dict[str, Any]


class Repaired(NamedTuple):
    """`mended` says in a sentence each what was made again from the rest; `vectors` are to be made again."""

    set_aside: tuple[SetAside, ...] = ()
    mended: tuple[str, ...] = ()
    vectors: int = 0
