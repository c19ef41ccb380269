"""The filter that limits which chunks a search may find."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

import msgspec

from halo_weave.errors import InputError
from halo_weave.records.chunks import Outline
from halo_weave.records.roles import Role


class ChunkFilter(msgspec.Struct, frozen=True):
    """Conditions on a chunk; None sets no condition.

    `since` is inclusive, `until` exclusive. `metadata` lists entries that the chunk's metadata must contain.
    """

    roles: Collection[Role] | None = None
    since: datetime | None = None
    until: datetime | None = None
    metadata: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        for name, time in (("since", self.since), ("until", self.until)):
            if time is not None and time.tzinfo is None:
                raise InputError(f"The time {time} of {name} has no time zone.")

    def lets_through(self, chunk: Outline) -> bool:
        return (
            not chunk.deleted
            and (self.roles is None or chunk.role in self.roles)
            and (self.since is None or chunk.time >= self.since)
            and (self.until is None or chunk.time < self.until)
            and (self.metadata is None or _has(chunk.metadata or {}, self.metadata))
        )


def _has(own: Any, wanted: Any) -> bool:
    """Match recursively; objects and lists may contain more than is wanted."""
    if isinstance(wanted, Mapping):
        return isinstance(own, Mapping) and all(name in own and _has(own[name], wanted[name]) for name in wanted)
    if isinstance(wanted, list):
        return isinstance(own, list) and all(any(_has(entry, one) for entry in own) for one in wanted)
    return bool(own == wanted)
