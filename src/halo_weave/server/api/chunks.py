"""Chunks of a window over HTTP: actions on them, the graveyard, and single tokens."""

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from halo_weave.errors import InputError
from halo_weave.records.numbers import text_of_number
from halo_weave.server.api.graveyard import Gap, Grave, gaps, graves, graves_of
from halo_weave.server.api.shapes import KeyText
from halo_weave.server.http.endpoints import Call, Endpoint, key_of_text
from halo_weave.server.http_errors import NotFound
from halo_weave.server.runtime.feed import Feed
from halo_weave.session.actions import actions
from halo_weave.session.window.chunk_json import key_to_json
from halo_weave.session.window.window_state import Key

T = TypeVar("T")
_MOST_KEYS = 10_000


class GraveyardQuery(msgspec.Struct):
    """`before` is the key of the previous page's last entry. `keys`, separated by commas, selects just these chunks."""

    limit: int = 50
    before: KeyText = ""
    keys: str = ""


class Merged(msgspec.Struct):
    key: Key


class DeleteQuery(msgspec.Struct):
    """With `exchange`, the whole question and answer are deleted. Otherwise only the chunk is, unless it opens a
    question or is all that is left of the newest answer."""

    exchange: bool = False


class Deleted(msgspec.Struct):
    """All deleted `keys`. `question` is the question's text if the newest answer was deleted."""

    keys: list[Key]
    question: str | None


class Undelete(msgspec.Struct, forbid_unknown_fields=True):
    keys: list[Key]


class TokenCard(msgspec.Struct):
    """`history` has the token's latest brightness values, newest last."""

    id: int
    text: str
    position: str
    turn: str
    role: str
    brightness: int
    history: list[int]


def _pin(call: Call) -> None:
    _done(call.feed, lambda feed: actions.pin(feed.window, call.key))


def _unpin(call: Call) -> None:
    _done(call.feed, lambda feed: actions.unpin(feed.window, call.key))


def _resurrect(call: Call) -> None:
    _done(call.feed, lambda feed: actions.resurrect(feed.window, call.key))


def _merge(call: Call) -> dict[str, Any]:
    return {"key": key_to_json(_done(call.feed, lambda feed: actions.merge(feed.window, call.key)))}


def _delete(call: Call) -> dict[str, Any]:
    deletion = _done(call.feed, lambda feed: actions.delete(feed.window, call.key, exchange=call.query.exchange))
    return {"keys": list(map(key_to_json, deletion.keys)), "question": deletion.question}


def _undelete(call: Call) -> None:
    keys = [key_of_text(f"{key.turn}.{key.chunk}.{key.role}") for key in call.body.keys]
    if not 0 < len(keys) <= _MOST_KEYS:
        raise InputError(f"1 to {_MOST_KEYS} chunks can be restored at once, not {len(keys)}.")
    _done(call.feed, lambda feed: actions.undelete(feed.window, keys))


def _graveyard(call: Call) -> list[Grave]:
    query: GraveyardQuery = call.query
    if query.keys:
        return graves_of(call.program, call.window, set(map(key_of_text, query.keys.split(","))))
    if not 1 <= query.limit <= 1000:
        raise InputError(f"limit is {query.limit}, but must be from 1 to 1000.")
    before = key_of_text(query.before) if query.before else None
    return graves(call.program, call.window, before, query.limit)


def _gaps(call: Call) -> list[Gap]:
    return gaps(call.window)


def _token(call: Call) -> TokenCard:
    window, key, text = call.window, call.key, call.part("place")
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise InputError(f"{text[:40]!r} is not the index of a token.")
    place = int(text)
    with window.life.lock:
        if key not in window.life.context or place >= len(window.life.context[key].tokens):
            raise NotFound(f"Chunk {key} in the context of the window {window.name} has no token {place}.")
        chunk = window.life.context[key]
        token, tokens = chunk.tokens[place], len(chunk.tokens)
        brightness = round(float(chunk.brightness[place]))
    history = call.program.feed(window).history(key, place, tokens)
    position = text_of_number(chunk.first_position + place)
    return TokenCard(token.id, token.text, position, text_of_number(key.turn), key.role, brightness, history)


def _done(feed: Feed, action: Callable[[Feed], T]) -> T:
    """The result of the action, after all tabs were sent the window's new context usage."""
    outcome = action(feed)
    feed.tell_filling()
    return outcome


_CHUNK = "/api/windows/{window}/chunks/{key}"
ENDPOINTS = [
    Endpoint("POST", f"{_CHUNK}/pin", "Keep a chunk in context.", _pin),
    Endpoint("POST", f"{_CHUNK}/unpin", "Allow a chunk to be archived again.", _unpin),
    Endpoint(
        "POST",
        f"{_CHUNK}/resurrect",
        "Bring a chunk back into context at full brightness, pinned, with the openings it depends on.",
        _resurrect,
    ),
    Endpoint("POST", f"{_CHUNK}/merge", "Merge a chunk with the one before it in its turn.", _merge, Merged),
    Endpoint(
        "POST",
        f"{_CHUNK}/delete",
        "Delete a chunk in all windows; this can be undone.",
        _delete,
        Deleted,
        query=DeleteQuery,
    ),
    Endpoint("POST", "/api/windows/{window}/undelete", "Undo a deletion.", _undelete, body=Undelete),
    Endpoint(
        "GET",
        "/api/windows/{window}/graveyard",
        "List what the window archived, and what was deleted or superseded in it, newest first.",
        _graveyard,
        list[Grave],
        query=GraveyardQuery,
    ),
    Endpoint(
        "GET",
        "/api/windows/{window}/gaps",
        "List the gaps in the context where chunks were archived.",
        _gaps,
        list[Gap],
    ),
    Endpoint(
        "GET",
        "/api/windows/{window}/tokens/{key}/{place}",
        "Get a token of the context with its recent brightness.",
        _token,
        TokenCard,
    ),
]
