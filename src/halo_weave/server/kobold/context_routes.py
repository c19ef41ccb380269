"""Our protocol extension: contexts that clients open by id and edit by difference, and previews from them."""

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from halo_weave.engine.difference import require_order
from halo_weave.engine.kobold_protocol.attention_codec import encode_attention
from halo_weave.engine.kobold_protocol.edit_script import apply_script, tokens_of
from halo_weave.engine.kobold_protocol.wire import (
    CloseContextRequest,
    OpenContextReply,
    OpenContextRequest,
    PreviewReply,
    PreviewRequest,
    Reading,
    RequestId,
    SyncReply,
    SyncRequest,
    token_texts,
)
from halo_weave.engine.protocol import Engine, Placed, SyncReport
from halo_weave.errors import InputError
from halo_weave.records.tokens import Token
from halo_weave.server.kobold.engine_scheduler import EngineScheduler, ScheduledCall
from halo_weave.server.kobold.exchange import answering, client_address, read_message, reply, while_connected
from halo_weave.server.kobold.generation import require_vocabulary
from halo_weave.server.kobold.sessions import Session, Sessions

_Action = Callable[[ScheduledCall, Session], Awaitable[Response]]
_MOST_PREVIEWED = 4096


class ContextRoutes:
    def __init__(self, engine: Engine, desk: EngineScheduler, sessions: Sessions) -> None:
        self._engine = engine
        self._desk = desk
        self._sessions = sessions

    def all(self) -> list[Route]:
        endpoints = {
            "/api/extra/context": self.open,
            "/api/extra/context/sync": self.sync,
            "/api/extra/context/close": self.close,
            "/api/extra/preview": self.preview,
        }
        return [Route(path, answering(endpoint), methods=["POST"]) for path, endpoint in endpoints.items()]

    async def open(self, request: Request) -> Response:
        wanted = await read_message(request, OpenContextRequest)
        address = client_address(request)
        job = ScheduledCall(address, address)

        async def work() -> Response:
            with self._desk.registered(job):
                async with self._desk.turn(job):
                    session = await self._desk.call(job, lambda: self._sessions.add(wanted.attention))
            return reply(OpenContextReply(session.context_id, session.revision, self._engine.facts.name))

        return await while_connected(request, work())

    async def sync(self, request: Request) -> Response:
        wanted = await read_message(request, SyncRequest)

        async def sync(job: ScheduledCall, session: Session) -> Response:
            tokens = self._wanted_tokens(wanted, session)
            try:
                report = await self._desk.call(
                    job,
                    lambda: session.context.sync(
                        tokens, clean=wanted.clean, observe=wanted.observe, cancellation=job.cancellation
                    ),
                )
            finally:
                if session.context.tokens != session.held:
                    session.note_change()
            return reply(_sync_reply(report, session.revision))

        return await while_connected(request, self._with_turn(request, wanted.context_id, sync, wanted.request_id))

    async def preview(self, request: Request) -> Response:
        wanted = await read_message(request, PreviewRequest)
        if not 1 <= wanted.count <= _MOST_PREVIEWED:
            raise InputError(f"A preview has 1 to {_MOST_PREVIEWED} tokens, not {wanted.count}.")
        require_vocabulary(self._engine, wanted.input_ids)

        async def preview(job: ScheduledCall, session: Session) -> Response:
            session.require_revision(wanted.revision)
            tokens: list[Token] = await self._desk.call(
                job, lambda: session.context.preview(wanted.input_ids, wanted.count, cancellation=job.cancellation)
            )
            return reply(PreviewReply(token_texts(tokens)))

        return await while_connected(request, self._with_turn(request, wanted.context_id, preview, wanted.request_id))

    async def close(self, request: Request) -> Response:
        wanted = await read_message(request, CloseContextRequest)

        async def close(job: ScheduledCall, session: Session) -> Response:
            await self._desk.call(job, lambda: self._sessions.remove(session))
            return reply({})

        # Not cancelled when the client disconnects: its context must still be closed.
        return await self._with_turn(request, wanted.context_id, close)

    async def _with_turn(
        self, request: Request, context_id: str, action: _Action, request_id: RequestId = None
    ) -> Response:
        session = self._sessions.find(context_id)
        job = ScheduledCall(context_id, client_address(request), request_id, context_id)
        session.requests += 1
        try:
            with self._desk.registered(job):
                async with self._desk.turn(job):
                    return await action(job, self._sessions.find(context_id))
        finally:
            session.requests -= 1

    def _wanted_tokens(self, wanted: SyncRequest, session: Session) -> list[Placed]:
        if wanted.tokens is not None:
            tokens = tokens_of(wanted.tokens)
        elif wanted.edits is not None:
            session.require_revision(wanted.revision)
            tokens = apply_script(session.held, wanted.edits)
        else:
            raise InputError("Send either tokens, or edits with the revision that they edit.")
        require_order(tokens)
        require_vocabulary(self._engine, [token.token_id for token in tokens])
        return tokens


def _sync_reply(report: SyncReport, revision: int) -> SyncReply:
    reading = None
    if report.read is not None and report.reading is not None:
        reading = Reading(report.read.tolist(), encode_attention(report.reading))
    return SyncReply(revision, report.kept, report.removed, report.restored, report.decoded, report.seconds, reading)
