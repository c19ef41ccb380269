"""What a chunk must be to be found."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

import msgspec

from halo_weave.errors import InputError
from halo_weave.records.chunks import Outline
from halo_weave.records.roles import Role


class ChunkFilter(msgspec.Struct, frozen=True):
    """What a chunk must be to be found; None lets all through.

    `since` is included, `until` is not. `metadata` names entries that the chunk's metadata must have with these values.
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
    """Of objects and lists only what is wanted must be there."""
    if isinstance(wanted, Mapping):
        return isinstance(own, Mapping) and all(name in own and _has(own[name], wanted[name]) for name in wanted)
    if isinstance(wanted, list):
        return isinstance(own, list) and all(any(_has(entry, one) for entry in own) for one in wanted)
    return bool(own == wanted)
