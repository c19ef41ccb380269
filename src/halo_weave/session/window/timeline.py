"""A window's timeline: what changed in its context with each save, and why.

An entry is the difference between two saved contexts and is written with the save itself. So undoing entries, newest
first, leads from the present context to each earlier one.
"""

import math
import threading
import zlib
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from datetime import datetime
from enum import IntFlag
from typing import Literal, NamedTuple

import msgspec

from halo_weave.memory.memory import Memory
from halo_weave.records.chunks import ChunkKey
from halo_weave.records.windows import BurialRecord, TimelineEntry
from halo_weave.session.window.saved_window import SavedChunk, SavedKey
from halo_weave.weave.brightness.protocol import NEW_BRIGHTNESS
from halo_weave.weave.context import LiveChunk

ChangeKind = Literal["said", "returned", "undeleted", "buried", "deleted", "pinned", "unpinned", "merged"]

DELETED_ELSEWHERE = "Deleted elsewhere."
MERGED = "Merged with another passage."
_REMOVED = "Merged with another passage, or permanently removed."
_PAGE = 200
_LARGEST_BYTE = 255


class Presence(IntFlag):
    """How a chunk is in the context; 0 if it is not."""

    ABSENT = 0
    LIVING = 1
    PINNED = 2
    RETURNED = 4


class ContextChange(NamedTuple):
    kind: ChangeKind
    key: ChunkKey
    reason: str
    before: Presence
    after: Presence


class Moment(NamedTuple):
    """A saved change of the context. `previous` is the number of the moment before it, 0 if it is the first."""

    number: int
    previous: int
    time: datetime
    changes: tuple[ContextChange, ...]


class PastContext(NamedTuple):
    """The chunks in the context after a moment, in the order of their keys, with a peak brightness for each."""

    moment: Moment
    chunks: dict[ChunkKey, Presence]
    peaks: tuple[float, ...]


class ChangeCause(NamedTuple):
    kind: ChangeKind
    reason: str


class _SavedChange(msgspec.Struct, frozen=True, array_like=True):
    kind: ChangeKind
    key: SavedKey
    reason: int
    before: int
    after: int


class _SavedMoment(msgspec.Struct, frozen=True):
    """`peaks` has a byte for each chunk in the context after the change, in the order of their keys."""

    changes: tuple[_SavedChange, ...]
    reasons: tuple[str, ...]
    peaks: bytes


class Timeline:
    """Collects what the next save tells, and reads what was saved. `lock` is that of the window's context."""

    def __init__(self, memory: Memory, window_id: str, lock: threading.RLock) -> None:
        self._memory = memory
        self._window_id = window_id
        self._lock = lock
        self._saved: dict[ChunkKey, Presence] = {}
        self._causes: dict[ChunkKey, ChangeCause] = {}

    def begin_with(self, chunks: Iterable[SavedChunk]) -> None:
        """Continue from this saved context, and discard what was noted since."""
        with self._lock:
            self._saved = {one.key.key: _presence(one) for one in chunks}
            self._causes = {}

    def note(self, keys: Iterable[ChunkKey], kind: ChangeKind, reason: str) -> None:
        """Note why these chunks come or go; burials and returns carry their reasons themselves."""
        with self._lock:
            self._causes.update(dict.fromkeys(keys, ChangeCause(kind, reason)))

    def unsaved(self, context: Iterable[LiveChunk], buried: Iterable[BurialRecord]) -> bytes:
        """The entry to save with this context and these new burials; empty if nothing changed."""
        living = {chunk.key: chunk for chunk in context}
        burials = {one.key: ChangeCause("buried", one.reason) for one in buried}
        returns = {key: ChangeCause("returned", chunk.returned) for key, chunk in living.items() if chunk.returned}
        now = {key: _presence(chunk) for key, chunk in living.items()}
        gone = [key for key in self._saved if key not in now and key not in burials and key not in self._causes]
        causes = {**self._explained(gone), **returns, **self._causes, **burials}
        changes = changes_between(self._saved, now, causes, always=burials.keys() | self._causes.keys())
        if not changes:
            return b""
        return _encoded(changes, [living[key].peak for key in sorted(living)])

    def note_saved(self, context: Iterable[LiveChunk]) -> None:
        self._saved = {chunk.key: _presence(chunk) for chunk in context}
        self._causes = {}

    def page(self, *, before: int | None = None, after: int = 0, limit: int) -> list[Moment]:
        """Moments below `before` and above `after`, newest first."""
        entries = self._memory.window_store.timeline(self._window_id, before=before, after=after, limit=limit)
        return [_moment(entry) for entry in entries]

    def context_at(self, number: int) -> PastContext | None:
        """The context as this moment left it; None if there is no such moment."""
        with self._lock:  # so that the saved context and the newest entry belong together
            chunks = dict(self._saved)
            page = self._entries(None)
        while page:
            for entry in page:
                if entry.number <= number:
                    return _past(entry, chunks) if entry.number == number else None
                undo(chunks, _moment(entry).changes)
            page = self._entries(page[-1])
        return None

    def _entries(self, newer: TimelineEntry | None) -> list[TimelineEntry]:
        before = None if newer is None else newer.number
        page = self._memory.window_store.timeline(self._window_id, before=before, limit=_PAGE)
        return [] if newer is not None and page and page[0].number != newer.previous else page

    def _explained(self, keys: Sequence[ChunkKey]) -> dict[ChunkKey, ChangeCause]:
        """Why chunks are gone that neither left nor were deleted here."""
        stored = self._memory.chunks_by_keys(keys) if keys else {}
        return {
            key: ChangeCause("deleted", DELETED_ELSEWHERE) if key in stored else ChangeCause("merged", _REMOVED)
            for key in keys
        }


def changes_between(
    before: Mapping[ChunkKey, Presence],
    after: Mapping[ChunkKey, Presence],
    causes: Mapping[ChunkKey, ChangeCause],
    *,
    always: Iterable[ChunkKey] = (),
) -> list[ContextChange]:
    """What differs between two contexts, in the order of the keys. `always` are told even if they are in neither."""
    changes = []
    for key in sorted({*before, *after, *always}):
        was, now = before.get(key, Presence.ABSENT), after.get(key, Presence.ABSENT)
        if was != now or not was | now:
            kind, reason = _why(was, now, causes.get(key))
            changes.append(ContextChange(kind, key, reason, was, now))
    return changes


def undo(context: MutableMapping[ChunkKey, Presence], changes: Iterable[ContextChange]) -> None:
    """Turn the context after these changes into the one before them."""
    for change in changes:
        if change.before:
            context[change.key] = change.before
        else:
            context.pop(change.key, None)


def _why(was: Presence, now: Presence, cause: ChangeCause | None) -> ChangeCause:
    stays = bool(was and now)
    if stays and (was ^ now) & Presence.PINNED:
        return ChangeCause("pinned" if now & Presence.PINNED else "unpinned", "")
    return cause or ChangeCause("said", "")


def _presence(chunk: LiveChunk | SavedChunk) -> Presence:
    pinned = Presence.PINNED if chunk.is_pinned else Presence.ABSENT
    return Presence.LIVING | pinned | (Presence.RETURNED if chunk.returned else Presence.ABSENT)


def _past(entry: TimelineEntry, chunks: Mapping[ChunkKey, Presence]) -> PastContext:
    peaks = tuple(map(_peak_of_byte, _decoded(entry).peaks))
    return PastContext(_moment(entry), {key: chunks[key] for key in sorted(chunks)}, peaks)


def _moment(entry: TimelineEntry) -> Moment:
    saved = _decoded(entry)
    changes = tuple(
        ContextChange(one.kind, one.key.key, saved.reasons[one.reason], Presence(one.before), Presence(one.after))
        for one in saved.changes
    )
    return Moment(entry.number, entry.previous, entry.time, changes)


def _encoded(changes: Sequence[ContextChange], peaks: Iterable[float]) -> bytes:
    places = {reason: place for place, reason in enumerate(dict.fromkeys(change.reason for change in changes))}
    told = tuple(
        _SavedChange(one.kind, SavedKey.of(one.key), places[one.reason], int(one.before), int(one.after))
        for one in changes
    )
    moment = _SavedMoment(told, tuple(places), bytes(map(_byte_of_peak, peaks)))
    return zlib.compress(msgspec.msgpack.encode(moment))


def _decoded(entry: TimelineEntry) -> _SavedMoment:
    return msgspec.msgpack.decode(zlib.decompress(entry.payload), type=_SavedMoment)


def _byte_of_peak(peak: float) -> int:
    """On a logarithmic scale, because brightness ranges from single digits to that of new text."""
    share = math.log1p(max(0.0, peak)) / math.log1p(NEW_BRIGHTNESS)
    return round(_LARGEST_BYTE * min(1.0, share))


def _peak_of_byte(byte: int) -> float:
    return math.expm1(byte / _LARGEST_BYTE * math.log1p(NEW_BRIGHTNESS))
