"""Formats chunks and search hits as lines for people and as JSON for programs."""

import textwrap
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from halo_weave.memory.search.search import Hit
from halo_weave.records.chunks import Chunk, ChunkKey
from halo_weave.records.numbers import text_of_number

_SHOWN_LINES = 3
_SHOWN_COLUMNS = 100
_FIRST_COLUMNS = 60


def counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def key_for_programs(key: ChunkKey) -> dict[str, Any]:
    """Return the key for JSON. The turn is text: it has no upper limit, but JSON numbers do."""
    return {"turn": text_of_number(key.turn), "index": key.index, "role": key.role}


def chunk_for_programs(chunk: Chunk) -> dict[str, Any]:
    return key_for_programs(chunk.key) | {
        "position": text_of_number(chunk.first_position),
        "tokens": chunk.token_count,
        "time": chunk.time,
        "deleted": chunk.deleted,
        "deleted_at": chunk.deleted_at,
        "undeleted_at": chunk.undeleted_at,
        "embedder": chunk.embedder,
        "metadata": chunk.metadata,
        "text": chunk.text,
    }


def hit_for_programs(hit: Hit) -> dict[str, Any]:
    return chunk_for_programs(hit.chunk) | {
        "score": hit.score,
        "similarity": hit.similarity,
        "vector_rank": hit.vector_rank,
        "word_rank": hit.word_rank,
        "word_score": hit.word_score,
        "attention": hit.attention,
        "attention_rank": hit.attention_rank,
        "looked_at": [hit.chunk.text[start:end] for start, end in hit.looked_at],
        "is_wish": hit.is_wish,
    }


def chunk_in_words(chunk: Chunk) -> Iterator[str]:
    facts = [
        str(chunk.key),
        local_time(chunk.time),
        f"{counted(chunk.token_count, 'token')} from position {text_of_number(chunk.first_position)}",
        _state(chunk),
    ]
    yield " · ".join(facts)
    yield from chunk.text.splitlines()


def hit_in_words(place: int, hit: Hit) -> Iterator[str]:
    yield f"{place:>3}  {hit.chunk.key} · {local_time(hit.chunk.time)} · {_why(hit)}"
    lines = [line for line in hit.chunk.text.splitlines() if line.strip()]
    for line in lines[:_SHOWN_LINES]:
        yield f"     {textwrap.shorten(line, _SHOWN_COLUMNS, placeholder=' …')}"
    if len(lines) > _SHOWN_LINES:
        yield "     …"


def first_words(text: str, columns: int = _FIRST_COLUMNS) -> str:
    """Return the beginning of a text on one line."""
    return textwrap.shorten(text[: columns * 4], columns, placeholder=" …")


def local_time(time: datetime) -> str:
    return f"{time.astimezone():%Y-%m-%d %H:%M}"


def _state(chunk: Chunk) -> str:
    if chunk.deleted:
        return "deleted" + (f" {local_time(chunk.deleted_at)}" if chunk.deleted_at else "")
    state = "vector" if chunk.embedder is not None else "no vector yet"
    return state + (f", undeleted {local_time(chunk.undeleted_at)}" if chunk.undeleted_at else "")


def _why(hit: Hit) -> str:
    similarity = "no vector" if hit.similarity is None else f"similarity {hit.similarity:.2f}"
    meaning = similarity + (f" (rank {hit.vector_rank})" if hit.vector_rank is not None else "")
    words = f"words (rank {hit.word_rank})" if hit.word_rank is not None else "no word match"
    attention = f" · attention (rank {hit.attention_rank})" if hit.attention_rank is not None else ""
    if looked_at := [hit.chunk.text[start:end] for start, end in hit.looked_at]:
        attention += f" to {', '.join(looked_at)}"
    return f"score {hit.score:.3f} · {meaning} · {words}{attention}{' · wish' if hit.is_wish else ''}"
