"""Parses the event stream of a generation from any kind of Kobold server, well-behaved or not."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple, TypeVar

import msgspec

from halo_weave.engine.kobold_protocol.wire import DoneExtras, ErrorDetail, TokenExtras, TokenText
from halo_weave.engine.protocol import FinishReason
from halo_weave.engine.server_connection import NOT_READABLE
from halo_weave.text.server_sent_events import EventParser


class TokenSeen(NamedTuple):
    """`attention` is the unchecked payload."""

    token: TokenText
    attention: object
    finish_reason: FinishReason | None


class PieceSeen(NamedTuple):
    """A piece of text from a stock server, which sends no token ids; `finish_reason` is the server's."""

    text: str
    finish_reason: str | None


class DoneSeen(NamedTuple):
    """`finish_reason` is the stock server's; only our own server sends `extras`."""

    finish_reason: str | None
    extras: DoneExtras | None


class ErrorSeen(NamedTuple):
    detail: ErrorDetail
    status: int


_Extras = TypeVar("_Extras", TokenExtras, DoneExtras)
ReplyEvent = TokenSeen | PieceSeen | DoneSeen | ErrorSeen


class _Any(msgspec.Struct, frozen=True):
    """The union of the fields of all event types."""

    type: str | None = None
    token: TokenText | str | None = None
    attention: object = None
    finish_reason: str | None = None
    halo_weave: msgspec.Raw = msgspec.Raw(b"null")
    detail: ErrorDetail | None = None
    status: int = 500


class UnreadableEvent(Exception):
    """`reason` is the one-word key under which the event is counted."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"The event is not valid: {reason}.")
        self.reason = reason


def read_event(data: bytes) -> ReplyEvent:
    try:
        event = msgspec.json.decode(data, type=_Any)
    except msgspec.ValidationError as error:
        raise UnreadableEvent("malformed") from error
    except NOT_READABLE as error:
        raise UnreadableEvent("bad_json") from error
    match event:
        case _Any(type="token" | None, token=TokenText() as token):
            extras = _extras(event.halo_weave, TokenExtras)
            return TokenSeen(token, event.attention, extras.finish_reason if extras else None)
        case _Any(type=None, token=str() as text):
            return PieceSeen(text, event.finish_reason)
        case _Any(type="done"):
            return DoneSeen(event.finish_reason, _extras(event.halo_weave, DoneExtras))
        case _Any(type="error", detail=ErrorDetail() as detail):
            return ErrorSeen(detail, event.status)
        case _Any(type="token" | "error"):
            raise UnreadableEvent("malformed")
    raise UnreadableEvent("unknown_type")


def readable_events(received: Iterable[bytes], skipped: "Counter[str]") -> Iterator[ReplyEvent]:
    """Yield the readable events; count the others by reason."""
    parser = EventParser()
    for data in chain.from_iterable(map(parser.push, received)):
        try:
            yield read_event(data)
        except UnreadableEvent as error:
            skipped[error.reason] += 1
    if parser.is_inside_event:
        skipped["half_event"] += 1


def _extras(raw: msgspec.Raw, kind: type[_Extras]) -> _Extras | None:
    try:
        return None if bytes(raw) == b"null" else msgspec.json.decode(raw, type=kind)
    except msgspec.DecodeError:
        return None
