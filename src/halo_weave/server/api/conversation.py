"""A window's whole conversation, page by page: every message sent or written in it, whether it is in context or not."""

from datetime import datetime
from typing import Annotated, Any

import msgspec

from halo_weave.errors import InputError
from halo_weave.records.chunks import Chunk, ChunkKey
from halo_weave.records.windows import BurialRecord, ChunkPage
from halo_weave.server.api.shapes import KeyText
from halo_weave.server.http.endpoints import Call, Endpoint, key_of_text
from halo_weave.session.window.chunk_json import key_to_json
from halo_weave.session.window.reviving import marks_of
from halo_weave.session.window.window import Window
from halo_weave.session.window.window_state import Key

MOST_BYTES = 256 * 1024
"""Of text on a page."""


class ConversationQuery(msgspec.Struct):
    """At most one of `before`, `after` and `around`, each the key of a chunk; without them, the newest passages."""

    before: KeyText = ""
    after: KeyText = ""
    around: KeyText = ""
    limit: Annotated[int, msgspec.Meta(ge=1, le=500)] = 100


class Passage(msgspec.Struct):
    """A chunk that the window wrote. `reason` is why it left the context, empty if it did not."""

    key: Key
    time: datetime
    text: str
    tokens: int
    marks: dict[str, Any]
    reason: str


class ConversationPage(msgspec.Struct):
    """Passages in order, without deleted and superseded ones."""

    passages: list[Passage]
    has_earlier: bool
    has_later: bool


def _conversation(call: Call) -> ConversationPage:
    query: ConversationQuery = call.query
    if sum(map(bool, (query.before, query.after, query.around))) > 1:
        raise InputError("Give only one of before, after and around.")
    window = call.window
    if query.around:
        return _around(window, key_of_text(query.around), query.limit)
    if query.after:
        later = _page(window, query.limit, after=key_of_text(query.after))
        return ConversationPage(_passages(window, later), has_earlier=True, has_later=later.has_more)
    before = key_of_text(query.before) if query.before else None
    earlier = _page(window, query.limit, before=before)
    return ConversationPage(_passages(window, earlier), has_earlier=earlier.has_more, has_later=before is not None)


def _around(window: Window, key: ChunkKey, limit: int) -> ConversationPage:
    behind = ChunkKey(key.turn, key.index + 1, "assistant")  # the first key that the order allows there
    earlier = _page(window, (limit + 1) // 2, before=behind)
    later = _page(window, limit, after=key)
    passages = _passages(window, earlier) + _passages(window, later)
    return ConversationPage(passages, has_earlier=earlier.has_more, has_later=later.has_more)


def _page(window: Window, limit: int, before: ChunkKey | None = None, after: ChunkKey | None = None) -> ChunkPage:
    return window.memory.window_store.chunks_of_window(
        window.id, before=before, after=after, limit=limit, most_bytes=MOST_BYTES
    )


def _passages(window: Window, page: ChunkPage) -> list[Passage]:
    chunks = [stored.chunk for stored in page.chunks]
    burials = window.life.burial_log.among(chunk.key for chunk in chunks)
    return [_passage(chunk, burials.get(chunk.key)) for chunk in chunks]


def _passage(chunk: Chunk, burial: BurialRecord | None) -> Passage:
    return Passage(
        key=Key(**key_to_json(chunk.key)),
        time=chunk.time,
        text=chunk.text,
        tokens=chunk.token_count,
        marks=marks_of(chunk),
        reason="" if burial is None else burial.reason,
    )


ENDPOINTS = [
    Endpoint(
        "GET",
        "/api/windows/{window}/conversation",
        "Read the window's whole conversation page by page, in both directions.",
        _conversation,
        ConversationPage,
        query=ConversationQuery,
    )
]
