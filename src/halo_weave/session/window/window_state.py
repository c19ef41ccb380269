"""Everything about a window that somebody needs who begins to look at it: one typed value, built in one place.

REST, the WebSocket, OpenAPI and the page share it. Numbers without a limit are decimal text.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from halo_weave.records.numbers import text_of_number
from halo_weave.records.roles import Role
from halo_weave.session.window.chunk_json import chunk_to_json
from halo_weave.session.window.context_usage import context_usage
from halo_weave.session.window.pending import PendingMessage
from halo_weave.session.window.window import Window
from halo_weave.weave.context import LiveChunk


class Key(msgspec.Struct):
    turn: str
    chunk: int
    role: Role


class ChunkShape(msgspec.Struct):
    """A living chunk; `pieces` and `brightness` have an entry per token. `returned` is why it returned, and `looked_at`
    are the words that the message looked at for which it did, as ranges of characters. `window` is the id of the window
    that wrote it, empty if none did."""

    key: Key
    position: str
    time: str
    pieces: list[str]
    brightness: list[int]
    peak: int
    is_pinned: bool
    is_foreign: bool
    window: str
    returned: str
    looked_at: list[tuple[int, int]]
    marks: dict[str, Any]


class Meter(msgspec.Struct):
    """Tokens by what keeps them in the context; they add up to what is usable."""

    system: int
    notes: int
    pinned: int
    living: int
    returned: int
    current: int
    free: int


class ToolCall(msgspec.Struct):
    """`name` is empty if the call could not be read; `arguments` is None then."""

    name: str
    command: str
    arguments: dict[str, Any] | None
    result: str
    is_error: bool
    seconds: float
    time: str


class NewestTurns(msgspec.Struct):
    turn_user: str
    turn_assistant: str


class WindowState(msgspec.Struct):
    """Everything to begin to look at a window; go on with the events after `event`. `recalls` says whether text returns
    from the memory by itself; `pending` are the messages that wait until the reply ends."""

    event: int
    id: str
    name: str
    doing: str
    chunks: list[ChunkShape]
    writing: list[str]
    writing_turn: str | None
    buried: int
    buried_tokens: int
    tokens: int
    budget: int
    usable: int
    messages: int
    overrides: dict[str, Any]
    tool_calls: list[ToolCall]
    meter: Meter
    next_to_bury: int | None
    next_keys: list[Key]
    queue: int | None
    newest: NewestTurns | None
    stats: dict[str, float]
    is_captured: bool
    is_private: bool
    recalls: bool
    pending: list[PendingMessage]


def window_state(
    window: Window,
    *,
    first_event: int = 0,
    is_answering: bool = True,
    queue: int | None = None,
    stats: Mapping[str, float] | None = None,
) -> WindowState:
    """The window as it is now. Events count from `first_event` for whoever asks; `doing` is only shown of a turn, whose
    end is an event, and not of a moment's work like pinning; `stats` are those of the latest reply."""
    with window.life.lock:
        newest = window.newest
        usage = context_usage(window)
        return WindowState(
            event=first_event + window.log.last_number,
            id=window.id,
            name=window.name,
            doing=window.doing if is_answering else "",
            chunks=[_chunk_shape(chunk) for chunk in window.life.context],
            writing=[token.text for token in window.writing],
            writing_turn=text_of_number(newest.turn_assistant) if window.writing and newest else None,
            buried=usage["buried"],
            buried_tokens=usage["buried_tokens"],
            usable=window.usable_tokens,
            messages=window.messages,
            overrides=dict(window.overrides),
            tool_calls=[ToolCall(**call) for call in window.tool_calls],
            queue=queue,
            newest=newest and NewestTurns(text_of_number(newest.turn_user), text_of_number(newest.turn_assistant)),
            stats=dict(stats or {}),
            is_captured=window.recorder is not None,
            is_private=window.is_private,
            pending=list(window.pending.messages),
            recalls=window.settings.weave.resurrection,
            tokens=usage["tokens"],
            budget=usage["budget"],
            meter=Meter(**usage["meter"]),
            next_to_bury=usage["next_to_bury"],
            next_keys=[Key(**key) for key in usage["next_keys"]],
        )


def _chunk_shape(chunk: LiveChunk) -> ChunkShape:
    fields = chunk_to_json(chunk)
    return ChunkShape(**{**fields, "key": Key(**fields["key"])})
