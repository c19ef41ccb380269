"""The saved state of a window: its living chunks, their brightness and pins, and the window's own settings.

The text and the burials are in the memory. The saved state has only the keys of the chunks and the brightness of their
tokens.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from halo_weave.errors import StoreDamaged
from halo_weave.records.chunks import ChunkKey, Span
from halo_weave.records.numbers import number_of_text, text_of_number
from halo_weave.records.roles import Role
from halo_weave.weave.brightness.protocol import State
from halo_weave.weave.context import LiveChunk

FORMAT_VERSION = 1


class SavedKey(msgspec.Struct, frozen=True, array_like=True):
    """Turns are unbounded, so they are stored as text."""

    turn: str
    index: int
    role: Role

    @classmethod
    def of(cls, key: ChunkKey) -> "SavedKey":
        return cls(text_of_number(key.turn), key.index, key.role)

    @property
    def key(self) -> ChunkKey:
        return ChunkKey(number_of_text(self.turn), self.index, self.role)


class SavedChunk(msgspec.Struct, frozen=True):
    """The position identifies the chunk even if it has since been merged into another one."""

    key: SavedKey
    position: str
    rows: int
    state: bytes
    is_pinned: bool
    returned: str = ""
    looked_at: tuple[Span, ...] = ()

    @classmethod
    def of(cls, chunk: LiveChunk) -> "SavedChunk":
        return cls(
            key=SavedKey.of(chunk.key),
            position=text_of_number(chunk.first_position),
            rows=len(chunk.state),
            state=chunk.state.tobytes(),
            is_pinned=chunk.is_pinned,
            returned=chunk.returned,
            looked_at=chunk.looked_at,
        )

    def brightness_rows(self) -> State:
        return np.frombuffer(self.state, dtype=np.float32).reshape(self.rows, -1).copy()


class SavedExchange(msgspec.Struct, frozen=True, array_like=True):
    """The newest exchange, and the unused positions that are reserved for its reply."""

    turn_user: str
    turn_assistant: str
    free_from: str
    free_to: str


class SavedWindow(msgspec.Struct, frozen=True):
    scorer: str
    chunks: tuple[SavedChunk, ...]
    newest: SavedExchange | None = None
    overrides: Mapping[str, Any] = {}
    messages: int = 0
    messages_at_reflection: int = 0
    news_seen: int = 0
    tokens: int | None = None
    """The value of `Window.tokens`; None if an earlier version of the program saved the window."""
    is_name_automatic: bool = False
    """Whether the window was named by the program, and not from a message or by a person."""
    format_version: int = FORMAT_VERSION


def encoded(window: SavedWindow) -> bytes:
    return msgspec.msgpack.encode(window)


def decoded(state: bytes, name: str) -> SavedWindow:
    try:
        window = msgspec.msgpack.decode(state, type=SavedWindow)
    except msgspec.MsgspecError as error:
        raise StoreDamaged(
            f"The saved state of the window {name} cannot be read ({error}); delete the window. Its conversation is "
            "still in the memory."
        ) from error
    if window.format_version > FORMAT_VERSION:
        raise StoreDamaged(f"The window {name} was saved by a newer version of Halo Weave; update to open it.")
    return window
