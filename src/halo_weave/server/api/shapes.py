"""What travels between page and server, as it is declared; numbers without a limit are decimal text."""

from datetime import datetime
from typing import Annotated, Any

import msgspec

from halo_weave.records.roles import Role
from halo_weave.server.runtime.engine_keeper import EngineState
from halo_weave.server.runtime.jobs import Job
from halo_weave.session.window.events import Kind

LongText = Annotated[str, msgspec.Meta(max_length=4_000_000)]
KeyText = Annotated[str, msgspec.Meta(max_length=10_100)]


class Key(msgspec.Struct):
    turn: str
    chunk: int
    role: Role


class ChunkShape(msgspec.Struct):
    """A living chunk; `pieces` and `brightness` have an entry per token."""

    key: Key
    position: str
    time: str
    pieces: list[str]
    brightness: list[int]
    peak: int
    is_pinned: bool
    is_foreign: bool
    returned: str
    marks: dict[str, Any]


class Meter(msgspec.Struct):
    """Tokens by what keeps them in the context; they add up to what is usable."""

    system: int
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
    """Everything to begin to look at a window; go on with the events after `event`."""

    event: int
    id: str
    name: str
    doing: str
    chunks: list[ChunkShape]
    writing: list[str]
    writing_turn: str | None
    buried: int
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


class EventShape(msgspec.Struct):
    number: int
    kind: Kind
    data: dict[str, Any]


class WindowEntry(msgspec.Struct):
    """`problem` says what is wrong with a window that cannot be opened, and is empty otherwise."""

    id: str
    name: str
    saved_at: datetime
    is_open: bool
    doing: str
    tokens: int
    messages: int
    problem: str = ""


class AbilityShape(msgspec.Struct):
    available: bool
    why_not: str


class EngineStatus(msgspec.Struct):
    """The model that serves. `context` is what it was trained on, `usable` what can be used; both 0 before it is there.

    `is_loading` says that a model is being opened; until it is open, the one before serves. `failure` is one sentence
    on why the model that was asked for last does not serve; it is empty if nothing failed.
    """

    kind: str
    model: str
    context: int
    usable: int
    attention: AbilityShape
    editing: AbilityShape
    is_bundled: bool
    state: EngineState
    text: str
    is_loading: bool
    failure: str


class MemoryStatus(msgspec.Struct):
    chunks: int
    deleted: int
    tokens: int
    missing_vectors: int
    bytes: int
    embedder: str


class Status(msgspec.Struct):
    program: str
    engine: EngineStatus
    memory: MemoryStatus
    jobs: list[Job]
