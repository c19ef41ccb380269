"""The memory over HTTP: search, turns and re-embedding; also Markdown rendering."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

import msgspec

from halo_weave.memory.embedding.text import partner
from halo_weave.records.chunks import ChunkKey
from halo_weave.records.numbers import number_of_text
from halo_weave.records.roles import Role
from halo_weave.server.api import status
from halo_weave.server.api.shapes import Status
from halo_weave.server.http.endpoints import Call, Endpoint
from halo_weave.server.http_errors import NotFound, TooLarge
from halo_weave.server.rendering.blocks import Block, joined
from halo_weave.server.runtime.jobs import Job, JobHandle
from halo_weave.server.runtime.program import Program
from halo_weave.session.window.chunk_json import key_to_json, stored_chunk_to_json
from halo_weave.session.window.reviving import window_of
from halo_weave.session.window.window_state import Key

_MOST_RENDERED_CHARACTERS = 2_000_000


class SearchQuery(msgspec.Struct):
    """`since` is inclusive, `until` exclusive. `window` is the window that `is_living` and `is_buried` refer to."""

    q: Annotated[str, msgspec.Meta(max_length=20_000)]
    limit: Annotated[int, msgspec.Meta(ge=1, le=200)] = 50
    role: Role | None = None
    since: Annotated[datetime, msgspec.Meta(tz=True)] | None = None
    until: Annotated[datetime, msgspec.Meta(tz=True)] | None = None
    window: str = ""


class Found(msgspec.Struct):
    """Ranks start at 1; a rank is None if the search by meaning or by words did not find the chunk. `window` is the id
    of the window that wrote it, empty if none did."""

    key: Key
    time: datetime
    text: str
    role: Role
    score: float
    similarity: float | None
    word_rank: int | None
    vector_rank: int | None
    attention_rank: int | None
    looked_at: list[tuple[int, int]]
    is_wish: bool
    is_living: bool
    is_buried: bool
    window: str


class StoredChunk(msgspec.Struct):
    key: Key
    position: str
    time: str
    text: str
    tokens: int
    is_deleted: bool


class Texts(msgspec.Struct, forbid_unknown_fields=True):
    texts: Annotated[list[str], msgspec.Meta(max_length=2000)]
    by_block: bool = False


class Rendered(msgspec.Struct):
    """Per text its HTML or, if asked for, its blocks."""

    html: list[str]
    blocks: list[list[Block]]


def _status(call: Call) -> Status:
    return status.status(call.program)


def _search(call: Call) -> list[Found]:
    query: SearchQuery = call.query
    if not query.q.strip():
        return []
    memory = call.program.memory
    hits = memory.search(
        query.q,
        limit=query.limit,
        roles=None if query.role is None else [query.role],
        since=query.since,
        until=query.until,
    )
    hits = memory.with_words(hits, query.q)
    living, buried = _of_window(call.program, query.window, [hit.chunk.key for hit in hits])
    return [
        Found(
            key=Key(**key_to_json(hit.chunk.key)),
            time=hit.chunk.time,
            text=hit.chunk.text,
            role=hit.chunk.key.role,
            score=hit.score,
            similarity=hit.similarity,
            word_rank=hit.word_rank,
            vector_rank=hit.vector_rank,
            attention_rank=hit.attention_rank,
            looked_at=list(hit.looked_at),
            is_wish=hit.is_wish,
            is_living=hit.chunk.key in living,
            is_buried=hit.chunk.key in buried,
            window=window_of(hit.chunk),
        )
        for hit in hits
    ]


def _of_window(
    program: Program, window_id: str, keys: Sequence[ChunkKey]
) -> tuple[frozenset[ChunkKey], frozenset[ChunkKey]]:
    if not window_id:
        return frozenset(), frozenset()
    window = program.window(window_id)
    with window.life.lock:
        return window.life.context.keys(), frozenset(window.life.burial_log.among(keys))


def _turn(call: Call) -> list[dict[str, Any]]:
    memory, turn = call.program.memory, number_of_text(call.part("turn"))
    stored = [entry.chunk for entry in memory.chunks_of_turn(turn)]
    if not stored:
        raise NotFound(f"The memory has no turn {call.part('turn')[:40]}.")
    others = {other for chunk in stored if (other := partner(chunk.key.turn, chunk.key.role)) is not None}
    for other_turn, role in others:
        if other_turn != turn and other_turn >= 0:
            stored += [e.chunk for e in memory.chunks_of_turn(other_turn) if e.chunk.key.role == role]
    stored.sort(key=lambda chunk: chunk.first_position)
    return [stored_chunk_to_json(chunk) for chunk in stored]


def _render(call: Call) -> Rendered:
    texts: list[str] = call.body.texts
    if sum(map(len, texts)) > _MOST_RENDERED_CHARACTERS:
        raise TooLarge(f"The text exceeds the limit of {_MOST_RENDERED_CHARACTERS:,} characters for rendering.")
    blocks = call.program.rendering.rendered(texts)
    return Rendered([], blocks) if call.body.by_block else Rendered([joined(one) for one in blocks], [])


def _reembed(call: Call) -> Job:
    memory = call.program.memory

    def work(handle: JobHandle) -> str:
        outcome = memory.reembed(
            lambda done, total: handle.note("embedding", done, total), is_stopped=handle.is_stopped
        )
        if not outcome.is_complete:
            return f"stopped; {outcome.missing:,} chunks still need a vector by {outcome.embedder}"
        return f"all chunks have vectors by {outcome.embedder}"

    return call.program.jobs.start("reembed", "embedding", work)


def _jobs(call: Call) -> list[Job]:
    return call.program.jobs.all()


def _stop_job(call: Call) -> Job:
    return call.program.jobs.stop(call.part("job"))


ENDPOINTS = [
    Endpoint(
        "GET", "/api/search", "Search the memory by words and by meaning.", _search, list[Found], query=SearchQuery
    ),
    Endpoint(
        "GET", "/api/turns/{turn}", "Get all chunks of a turn and of its question or answer.", _turn, list[StoredChunk]
    ),
    Endpoint(
        "POST",
        "/api/reembed",
        "Compute vectors for all chunks with the embedder in the settings.",
        _reembed,
        Job,
        status=202,
    ),
]
RENDERING_ENDPOINTS = [
    Endpoint("POST", "/api/render", "Render Markdown as sanitised HTML.", _render, Rendered, body=Texts),
]
STATUS_ENDPOINTS = [
    Endpoint("GET", "/api/status", "Get the status of the engine, the memory and jobs.", _status, Status),
    Endpoint("GET", "/api/jobs", "List running and finished jobs.", _jobs, list[Job]),
    Endpoint("POST", "/api/jobs/{job}/stop", "Stop a job.", _stop_job, Job),
]
