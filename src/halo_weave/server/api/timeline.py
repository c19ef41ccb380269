"""A window's timeline over HTTP: what changed in its context and why, and the context at each of these moments."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from halo_weave.errors import InputError
from halo_weave.records.chunks import Chunk, ChunkKey, Stored
from halo_weave.records.numbers import text_of_number
from halo_weave.server.http.endpoints import Call, Endpoint
from halo_weave.server.http_errors import NotFound
from halo_weave.session.window.chunk_json import key_to_json
from halo_weave.session.window.timeline import ChangeKind, ContextChange, Presence
from halo_weave.session.window.window import Window
from halo_weave.session.window.window_state import Key

_MOST = 1000
_OPENING_CHARACTERS = 120
_LARGEST_NUMBER = 2**63 - 1


class TimelineQuery(msgspec.Struct):
    """Moments with numbers below `before` and above `after`."""

    limit: int = 100
    before: int | None = None
    after: int = 0


class ChangeShape(msgspec.Struct):
    """What happened to a chunk; `is_pinned` says whether it is pinned since."""

    kind: ChangeKind
    key: Key
    reason: str
    is_pinned: bool


class MomentShape(msgspec.Struct):
    """A change of the context. Numbers ascend with time, with gaps."""

    number: int
    time: datetime
    changes: list[ChangeShape]


class PastChunk(msgspec.Struct):
    """A chunk as it is in the memory now; `peak` is its brightness then, or None if that is not known."""

    key: Key
    position: str
    time: datetime
    pieces: list[str]
    peak: int | None
    is_pinned: bool
    has_returned: bool
    is_deleted: bool
    marks: dict[str, Any]


class PastChange(msgspec.Struct):
    """What happened to a chunk, with the beginning of its text, which is empty if the chunk no longer exists."""

    kind: ChangeKind
    key: Key
    reason: str
    is_pinned: bool
    text: str


class PastContextShape(msgspec.Struct):
    """The context at a moment, and what had just changed in it. `missing` counts chunks that were permanently removed
    or merged with another since."""

    number: int
    time: datetime
    changes: list[PastChange]
    chunks: list[PastChunk]
    missing: int


def _timeline(call: Call) -> list[MomentShape]:
    query: TimelineQuery = call.query
    if not 1 <= query.limit <= _MOST:
        raise InputError(f"limit is {query.limit}, but must be from 1 to {_MOST}.")
    for name, number in (("before", query.before), ("after", query.after)):
        if number is not None and not 0 <= number <= _LARGEST_NUMBER:
            raise InputError(f"{name} is {number}, but must be the number of a moment.")
    moments = call.window.timeline.page(before=query.before, after=query.after, limit=query.limit)
    return [
        MomentShape(
            moment.number,
            moment.time,
            [ChangeShape(one.kind, _key(one.key), one.reason, _is_pinned(one)) for one in moment.changes],
        )
        for moment in moments
    ]


def _past_context(call: Call) -> PastContextShape:
    text, window = call.part("number"), call.window
    if not (text.isascii() and text.isdecimal() and len(text) < 19):
        raise InputError(f"{text[:40]!r} is not the number of a moment.")
    past = window.timeline.context_at(int(text))
    if past is None:
        raise NotFound(f"The timeline of the window {window.name} has no moment {int(text)}.")
    stored = window.memory.chunks_by_keys([*past.chunks, *(one.key for one in past.moment.changes)])
    peaks = dict(zip(past.chunks, past.peaks, strict=False))
    found = [stored[key].chunk for key in past.chunks if key in stored]
    chunks = sorted(found, key=lambda chunk: chunk.first_position)
    return PastContextShape(
        past.moment.number,
        past.moment.time,
        [
            PastChange(one.kind, _key(one.key), one.reason, _is_pinned(one), _opening(stored.get(one.key)))
            for one in past.moment.changes
        ],
        [_past_chunk(window, chunk, past.chunks[chunk.key], peaks) for chunk in chunks],
        len(past.chunks) - len(chunks),
    )


def _past_chunk(window: Window, chunk: Chunk, presence: Presence, peaks: Mapping[ChunkKey, float]) -> PastChunk:
    tokens, _ = window.life.reviver.tokens(chunk)
    return PastChunk(
        key=_key(chunk.key),
        position=text_of_number(chunk.first_position),
        time=chunk.time,
        pieces=[token.text for token in tokens],
        peak=round(peaks[chunk.key]) if chunk.key in peaks else None,
        is_pinned=bool(presence & Presence.PINNED),
        has_returned=bool(presence & Presence.RETURNED),
        is_deleted=chunk.deleted,
        marks=window.life.reviver.trusted_marks(chunk),
    )


def _is_pinned(change: ContextChange) -> bool:
    return bool(change.after & Presence.PINNED)


def _opening(stored: Stored | None) -> str:
    text = "" if stored is None else stored.chunk.text
    return text if len(text) <= _OPENING_CHARACTERS else f"{text[:_OPENING_CHARACTERS]}…"


def _key(key: ChunkKey) -> Key:
    return Key(**key_to_json(key))


_TIMELINE = "/api/windows/{window}/timeline"
ENDPOINTS = [
    Endpoint(
        "GET",
        _TIMELINE,
        "List the changes of the context with their reasons, newest first.",
        _timeline,
        list[MomentShape],
        query=TimelineQuery,
    ),
    Endpoint(
        "GET", f"{_TIMELINE}/{{number}}", "Get the context as it was at a moment.", _past_context, PastContextShape
    ),
]
