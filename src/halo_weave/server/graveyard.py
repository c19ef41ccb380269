"""What a window buried, what was deleted in it, and the gaps that this left between what lives."""

from bisect import bisect_left
from datetime import datetime

import msgspec

from halo_weave.memory.records import Chunk, ChunkKey
from halo_weave.server.program import Program
from halo_weave.server.shapes import Key
from halo_weave.session.describing import named
from halo_weave.session.window import Window

SHOWN_KEYS = 100


class Grave(msgspec.Struct):
    """`peak` is the brightness that it had when it was buried, None if it was deleted."""

    key: Key
    time: datetime
    text: str
    tokens: int
    peak: int | None
    reason: str
    buried_at: datetime
    is_deleted: bool
    is_superseded: bool


class Gap(msgspec.Struct, rename={"since": "from", "until": "to"}):
    """Buried chunks between two living ones; `reason` is that of the newest burial, `keys` are the first 100."""

    after: Key | None
    before: Key | None
    chunks: int
    tokens: int
    since: datetime
    until: datetime
    reason: str
    keys: list[Key]


def graves(program: Program, window: Window) -> list[tuple[ChunkKey, Grave]]:
    """The newest first."""
    with window.life.looking:
        buried = dict(window.life.graves)
    found: dict[ChunkKey, Grave] = {}
    for key, deleted in program.deletions.of_window(window.id).items():
        reason = "Superseded by a newer version." if deleted.is_superseded else "Deleted."
        found[key] = _grave(deleted.chunk, None, reason, deleted.time, is_superseded=deleted.is_superseded)
    for key, grave in buried.items():
        stored = program.memory.chunk(key)
        if stored is not None and not stored.chunk.deleted:
            found[key] = _grave(stored.chunk, round(grave.peak), grave.reason, grave.time)
    return sorted(found.items(), key=lambda item: (item[1].buried_at, item[0]), reverse=True)


def gaps(program: Program, window: Window) -> list[Gap]:
    """In order of position."""
    with window.life.looking:
        living = sorted((chunk.first_position, chunk.key) for chunk in window.life.context)
        buried = dict(window.life.graves)
    positions = [position for position, _ in living]
    members: dict[int, list[Chunk]] = {}
    for key in buried:
        stored = program.memory.chunk(key)
        if stored is not None and not stored.chunk.deleted:
            members.setdefault(bisect_left(positions, stored.chunk.first_position), []).append(stored.chunk)
    found = []
    for place, chunks in sorted(members.items()):
        chunks.sort(key=lambda chunk: chunk.first_position)
        newest = max((buried[chunk.key] for chunk in chunks), key=lambda grave: grave.time)
        found.append(
            Gap(
                after=_key(living[place - 1][1]) if place else None,
                before=_key(living[place][1]) if place < len(living) else None,
                chunks=len(chunks),
                tokens=sum(chunk.token_count for chunk in chunks),
                since=min(chunk.time for chunk in chunks),
                until=max(chunk.time for chunk in chunks),
                reason=newest.reason,
                keys=[_key(chunk.key) for chunk in chunks[:SHOWN_KEYS]],
            )
        )
    return found


def _grave(chunk: Chunk, peak: int | None, reason: str, buried_at: datetime, *, is_superseded: bool = False) -> Grave:
    return Grave(
        key=_key(chunk.key),
        time=chunk.time,
        text=chunk.text,
        tokens=chunk.token_count,
        peak=peak,
        reason=reason,
        buried_at=buried_at,
        is_deleted=chunk.deleted,
        is_superseded=is_superseded,
    )


def _key(key: ChunkKey) -> Key:
    return Key(**named(key))
