"""What travels between page and server, as it is declared; numbers without a limit are decimal text."""

from datetime import datetime
from typing import Annotated, Any

import msgspec

from halo_weave.server.runtime.engine_keeper import EngineState
from halo_weave.server.runtime.jobs import Job
from halo_weave.session.window.events import Kind

LongText = Annotated[str, msgspec.Meta(max_length=4_000_000)]
KeyText = Annotated[str, msgspec.Meta(max_length=10_100)]


class EventShape(msgspec.Struct):
    number: int
    kind: Kind
    data: dict[str, Any]


class WindowEntry(msgspec.Struct):
    """`problem` says what is wrong with a window that cannot be opened, and is empty otherwise. Nothing of a
    window that `is_private` is stored. `place` is None for a window that nobody has moved within its folder."""

    id: str
    name: str
    saved_at: datetime
    is_open: bool
    doing: str
    tokens: int
    messages: int
    problem: str = ""
    is_private: bool = False
    folder: str = ""
    place: int | None = None


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
