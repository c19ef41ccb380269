"""A window's buried and deleted chunks, and the gaps that they leave between living chunks."""

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from heapq import merge
from itertools import islice

import msgspec

from halo_weave.records.chunks import Chunk, ChunkKey
from halo_weave.records.windows import BurialPlace, BurialRecord
from halo_weave.server.runtime.deletions import DeletionMark
from halo_weave.server.runtime.program import Program
from halo_weave.session.window.chunk_json import key_to_json
from halo_weave.session.window.deleting import DELETED, DELETION_REASONS, SUPERSEDED
from halo_weave.session.window.window import Window
from halo_weave.session.window.window_state import Key

SHOWN_KEYS = 100


class Grave(msgspec.Struct):
    """`peak` is the chunk's brightness when it was buried, or None if it was deleted."""

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
    """Buried chunks between two living ones; `reason` is that of the newest burial, `keys` has the first 100."""

    after: Key | None
    before: Key | None
    chunks: int
    tokens: int
    since: datetime
    until: datetime
    reason: str
    keys: list[Key]


def graves(program: Program, window: Window, before: ChunkKey | None, limit: int) -> list[Grave]:
    """Newest first; with `before`, only those older than that chunk's burial or deletion."""
    deleted = program.deletions.of_window(window.id)
    place = None
    if before is not None:
        if (burial := window.life.burial_log.get(before)) is not None:
            place = burial.place
        elif before in deleted:
            place = BurialPlace(deleted[before].time, before)
        else:
            return []
    buried, gone = _buried(window, place, limit), _deleted(program, deleted, place)
    both = merge(buried, gone, key=lambda pair: pair[0], reverse=True)
    return [grave for _, grave in islice(both, limit)]


def graves_of(program: Program, window: Window, keys: Collection[ChunkKey]) -> list[Grave]:
    """The buried or deleted chunks among these, newest first."""
    deletions = program.deletions.of_window(window.id)
    wanted = {key: deletions[key] for key in keys if key in deletions}
    found = {place.key: (place, grave) for place, grave in _deleted(program, wanted, None)}
    for burial in window.life.burial_log.among(keys).values():
        if (grave := _lying(window, burial)) is not None:
            found[burial.key] = burial.place, grave
    return [grave for _, grave in sorted(found.values(), key=lambda pair: pair[0], reverse=True)]


def gaps(window: Window) -> list[Gap]:
    """In order of position."""
    with window.life.lock:
        living = sorted((chunk.first_position, chunk.key) for chunk in window.life.context)
    found = window.life.burial_log.gaps([position for position, _ in living], keys=SHOWN_KEYS)
    return [
        Gap(
            after=_key(living[place - 1][1]) if place else None,
            before=_key(living[place][1]) if place < len(living) else None,
            chunks=gap.chunks,
            tokens=gap.tokens,
            since=gap.since,
            until=gap.until,
            reason=gap.newest.reason,
            keys=list(map(_key, gap.keys)),
        )
        for place, gap in enumerate(found)
        if gap is not None
    ]


def _deleted(
    program: Program, deletions: Mapping[ChunkKey, DeletionMark], before: BurialPlace | None
) -> Iterator[tuple[BurialPlace, Grave]]:
    """Newest first; each chunk is read only when it is requested."""
    places = (BurialPlace(deletion.time, key) for key, deletion in deletions.items())
    for place in sorted((place for place in places if before is None or place < before), reverse=True):
        stored = program.memory.chunk(place.key)
        if stored is not None and stored.chunk.deleted:
            is_superseded = deletions[place.key].is_superseded
            reason = DELETION_REASONS[SUPERSEDED if is_superseded else DELETED]
            yield place, _grave(stored.chunk, None, reason, place.time, is_superseded=is_superseded)


def _buried(window: Window, before: BurialPlace | None, limit: int) -> Iterator[tuple[BurialPlace, Grave]]:
    while page := window.life.burial_log.page(before, limit):
        for burial in page:
            if (grave := _lying(window, burial)) is not None:
                yield burial.place, grave
        before = page[-1].place


def _lying(window: Window, burial: BurialRecord) -> Grave | None:
    stored = window.memory.chunk(burial.key)
    if stored is None or stored.chunk.deleted:
        return None
    return _grave(stored.chunk, round(burial.peak), burial.reason, burial.time)


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
    return Key(**key_to_json(key))
