"""A context kept on our own server: only differences are sent and decoded."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from typing import TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from halo_weave.engine.cancellation import Cancellation, linked
from halo_weave.engine.kobold_client.connection import Connection, ContextGone, RevisionUnknown
from halo_weave.engine.kobold_client.context import KoboldContext, RunningRequest, SkippedAttention, take_position
from halo_weave.engine.kobold_client.reply_events import DoneSeen, ErrorSeen, ReplyEvent, TokenSeen, readable_events
from halo_weave.engine.kobold_protocol.attention_codec import UnusableAttention, decode_array
from halo_weave.engine.kobold_protocol.edit_script import apply_script, runs_of, script_between
from halo_weave.engine.kobold_protocol.wire import (
    CloseContextRequest,
    DoneExtras,
    OpenContextReply,
    OpenContextRequest,
    PreviewReply,
    PreviewRequest,
    Reading,
    SyncReply,
    SyncRequest,
    sampling_fields,
)
from halo_weave.engine.protocol import (
    Attention,
    AttentionChoice,
    GenerationSettings,
    ModelFacts,
    OnRead,
    Placed,
    Step,
    SyncReport,
)
from halo_weave.errors import EngineProtocolError, EngineStopped, EngineUnavailable, HaloError
from halo_weave.records.tokens import Token

_T = TypeVar("_T")
_ATTEMPTS = 3


class _OnServer:
    """Our copy of the server's context. `revision` is None when its content is unknown."""

    def __init__(self, context_id: str, revision: int) -> None:
        self.context_id = context_id
        self.revision: int | None = revision
        self.tokens: list[Placed] = []

    def holds(self, tokens: list[Placed], revision: int) -> None:
        self.tokens = tokens
        self.revision = revision

    def is_unknown(self) -> None:
        self.tokens = []
        self.revision = None


class EditableContext(KoboldContext):
    def __init__(
        self, connection: Connection, facts: ModelFacts, attention: AttentionChoice | None, skipped: SkippedAttention
    ) -> None:
        super().__init__(connection, facts, attention, skipped)
        self._server = self._open()

    def sync(
        self,
        tokens: Sequence[Placed],
        *,
        clean: bool = False,
        observe: bool = False,
        cancellation: Cancellation | None = None,
        on_read: OnRead | None = None,  # noqa: ARG002
    ) -> SyncReport:
        started = time.perf_counter()
        wanted = self._checked(tokens)
        with self._working(cancellation) as work:
            reply = self._again_if_lost(lambda: self._send(wanted, work, clean=clean, observe=observe))
        self._tokens = wanted
        report = SyncReport(reply.kept, reply.removed, reply.restored, reply.decoded, time.perf_counter() - started)
        reading = self._read_reading(reply.reading) if reply.reading is not None else None
        return report if reading is None else report._replace(read=reading[0], reading=reading[1])

    def preview(self, token_ids: Sequence[int], count: int, *, cancellation: Cancellation | None = None) -> list[Token]:
        self._require_open()
        self._require_room(len(self._tokens) + len(token_ids) + count)

        def ask(work: RunningRequest) -> PreviewReply:
            revision = self._bring_up_to_date(work)
            request = PreviewRequest(self._server.context_id, revision, list(token_ids), count, work.request_id)
            return self._connection.post(
                "/api/extra/preview", request, PreviewReply, timeout_s=self._connection.timeouts.sync_s
            )

        with self._working(cancellation) as work:
            return [Token(token.token_id, token.text) for token in self._again_if_lost(lambda: ask(work)).tokens]

    def close(self) -> None:
        if self._closing.is_cancelled:
            return
        super().close()
        # A server that cannot be reached has lost the context anyway.
        with suppress(HaloError):
            self._connection.post("/api/extra/context/close", CloseContextRequest(self._server.context_id), object)

    def _generate(
        self, settings: GenerationSettings, positions: Iterator[int] | None, cancellation: Cancellation | None
    ) -> Iterator[Step]:
        last: Step | None = None
        with linked(cancellation, self._closing) as ended:
            try:
                with self._asking(ended) as work, ExitStack() as stack:
                    reply, events = self._start(settings, positions, work, stack)
                    for event in events:
                        if ended.is_cancelled:
                            break
                        if isinstance(event, DoneSeen):
                            last = last or _ending(event)
                            self._take_over(event.extras, reply)
                            break
                        if isinstance(event, TokenSeen):
                            step = self._token_step(event, reply)
                            if step.finish_reason is None:
                                yield step
                            else:
                                last = step
                        elif isinstance(event, ErrorSeen):
                            raise self._connection.error_of(event.detail, event.status)
            except (EngineUnavailable, EngineStopped):
                if not ended.is_cancelled:
                    raise
            yield last or Step(None, "", None, "stopped")

    def _start(
        self, settings: GenerationSettings, positions: Iterator[int] | None, work: RunningRequest, stack: ExitStack
    ) -> tuple["_Reply", Iterator[ReplyEvent]]:
        first = take_position(positions, self._tokens)
        request = {
            **sampling_fields(settings),
            "first_position": str(first),
            "output_attentions": self._attention is not None,
            "request_id": work.request_id,
        }

        def ask() -> tuple[list[Placed], Iterator[bytes]]:
            revision = self._bring_up_to_date(work)
            before = self._server.tokens
            where = {"context_id": self._server.context_id, "revision": revision}
            # The server's context changes from here, whatever happens.
            self._server.is_unknown()
            stream = self._connection.stream("/api/extra/generate/stream", {**request, **where}, work.cancellation)
            return before, stack.enter_context(stream)

        before, received = self._again_if_lost(ask)
        return _Reply(before, first, positions), readable_events(received, self._skipped.events)

    def _token_step(self, event: TokenSeen, reply: "_Reply") -> Step:
        attention = self._read_attention(event.attention, len(self._tokens), is_chosen=True)
        self._tokens.append(Placed(reply.place(self._tokens), event.token.token_id))
        return Step(event.token.token_id, event.token.text, attention, event.finish_reason)

    def _take_over(self, extras: DoneExtras | None, reply: "_Reply") -> None:
        """Adopt the server's final context, with its reply tokens at the positions that the caller gave."""
        if extras is None or extras.revision is None:
            return
        held = apply_script(reply.before, extras.edits)
        self._server.holds(held, extras.revision)
        self._tokens = [Placed(reply.positions.get(position, position), token_id) for position, token_id in held]

    def _bring_up_to_date(self, work: RunningRequest) -> int:
        """Make the server's context equal to ours if it is not, and return its revision."""
        revision = self._server.revision
        if revision is None or self._server.tokens != self._tokens:
            revision = self._send(self._tokens, work).revision
        return revision

    def _send(
        self, wanted: list[Placed], work: RunningRequest, *, clean: bool = False, observe: bool = False
    ) -> SyncReply:
        server = self._server
        if server.revision is None:
            request = SyncRequest(server.context_id, tokens=runs_of(wanted))
        else:
            request = SyncRequest(server.context_id, server.revision, script_between(server.tokens, wanted))
        request = msgspec.structs.replace(request, clean=clean, observe=observe, request_id=work.request_id)
        work.cancellation.require_going_on("Reading the context")
        server.is_unknown()
        reply = self._connection.post(
            "/api/extra/context/sync", request, SyncReply, timeout_s=self._connection.timeouts.sync_s
        )
        server.holds(list(wanted), reply.revision)
        return reply

    def _again_if_lost(self, ask: Callable[[], _T]) -> _T:
        """Retry if the server closed the context or was restarted, or if its last answer did not reach us."""
        for _ in range(_ATTEMPTS - 1):
            try:
                return ask()
            except ContextGone:
                self._server = self._open()
            except RevisionUnknown:
                self._server.is_unknown()
        return ask()

    def _open(self) -> _OnServer:
        reply = self._connection.post(
            "/api/extra/context",
            OpenContextRequest(self._attention),
            OpenContextReply,
            timeout_s=self._connection.timeouts.sync_s,
        )
        if reply.model_name != self._facts.name:
            raise EngineProtocolError(
                f"The model server at {self._connection.url} now runs {reply.model_name}, not {self._facts.name}; "
                "restart to use it."
            )
        return _OnServer(reply.context_id, reply.revision)

    def _read_reading(self, reading: Reading) -> tuple[NDArray[np.int64], Attention] | None:
        try:
            rows = decode_array(msgspec.to_builtins(reading.attention))
        except UnusableAttention as error:
            self._skipped.attention[error.reason] += 1
            return None
        if len(rows) != len(reading.read):
            self._skipped.attention["shape"] += 1
            return None
        return np.array(reading.read, dtype=np.int64), rows


class _Reply:
    """A reply in progress: maps the server's positions to those that the caller wants.

    The server gets only the first position, because the caller's positions become known one at a time. It numbers the
    tokens consecutively from there. Where the caller's positions differ, the next sync corrects the server.
    """

    def __init__(self, before: list[Placed], first: int, positions: Iterator[int] | None) -> None:
        self.before = before
        self.positions: dict[int, int] = {}
        self._first = first
        self._wanted = positions
        self._count = 0

    def place(self, tokens: list[Placed]) -> int:
        position = self._first if self._count == 0 else take_position(self._wanted, tokens)
        self.positions[self._first + self._count] = position
        self._count += 1
        return position


def _ending(event: DoneSeen) -> Step:
    if event.extras is None:
        return Step(None, "", None, "length" if event.finish_reason == "length" else "end")
    return Step(None, event.extras.text, None, event.extras.finish_reason)
