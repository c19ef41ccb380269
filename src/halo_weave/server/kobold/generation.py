"""Runs generations on the server and sends their events to the client."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterator

from halo_weave.engine.cancellation import Cancellation
from halo_weave.engine.kobold_protocol.attention_codec import encode_attention
from halo_weave.engine.kobold_protocol.edit_script import EditStep, read_position, script_between
from halo_weave.engine.kobold_protocol.wire import (
    DoneEvent,
    DoneExtras,
    ErrorEvent,
    GenerateRequest,
    TokenEvent,
    TokenExtras,
    TokenText,
    stock_finish,
)
from halo_weave.engine.protocol import AttentionChoice, Engine, EngineContext, GenerationSettings, Placed, Step
from halo_weave.errors import ContextTooLarge, EngineStopped, InputError
from halo_weave.server.kobold.engine_scheduler import EngineScheduler, ScheduledCall
from halo_weave.server.kobold.exchange import describe
from halo_weave.server.kobold.sessions import Sessions, StatelessContexts

Emit = Callable[[object], Awaitable[None]]
_OnStep = Callable[[Step], Awaitable[None]]

_STOPPED = Step(None, "", None, "stopped")


class Generations:
    def __init__(self, engine: Engine, desk: EngineScheduler, sessions: Sessions, stateless: StatelessContexts) -> None:
        self._engine = engine
        self._desk = desk
        self._sessions = sessions
        self._stateless = stateless

    async def prepare(self, request: GenerateRequest) -> "PreparedGeneration":
        """Check everything that can be checked before the first byte of the response."""
        settings = request.settings()
        if request.context_id is not None:
            self._sessions.find(request.context_id).require_revision(request.revision)
            first = read_position(request.first_position) if request.first_position is not None else None
            return PreparedGeneration(request, settings, first_position=first)
        tokens = [Placed(index, token_id) for index, token_id in enumerate(await self._wanted_ids(request))]
        if len(tokens) > self._engine.facts.usable_context:
            raise ContextTooLarge(len(tokens), self._engine.facts.usable_context)
        if not tokens:
            raise InputError("There is nothing to continue; send prompt, input_ids or context_id.")
        return PreparedGeneration(request, settings, tokens=tokens)

    async def stream(self, prepared: "PreparedGeneration", job: ScheduledCall, emit: Emit) -> None:
        """Send a generation as events. If it fails, the last event is the error."""
        request_id = prepared.request.request_id
        events = _EventWriter(prepared.request, emit)
        with self._desk.registered(job):
            try:
                revision, edits = await self._run(prepared, job, events.write_step)
            except EngineStopped:
                await events.write_step(_STOPPED)
                revision, edits = None, []
            except TimeoutError:
                raise
            except Exception as error:
                status, detail = describe(error)
                await emit(ErrorEvent(detail, status, request_id))
                return
            await events.write_done(revision, edits)

    async def text(self, prepared: "PreparedGeneration", job: ScheduledCall) -> str:
        """Return a whole reply at once."""

        async def ignore(step: Step) -> None:
            pass

        with self._desk.registered(job):
            await self._run(prepared, job, ignore)
        return job.text

    async def _wanted_ids(self, request: GenerateRequest) -> list[int]:
        if request.input_ids is not None:
            return require_vocabulary(self._engine, request.input_ids)
        tokens = await asyncio.to_thread(
            self._engine.tokenize, with_start(self._engine, request.prompt or ""), special=True
        )
        return [token.id for token in tokens]

    async def _run(
        self, prepared: "PreparedGeneration", job: ScheduledCall, on_step: _OnStep
    ) -> tuple[int | None, list[EditStep]]:
        if prepared.tokens is None:
            return await self._continue_session(prepared, job, on_step)
        async with self._desk.turn(job):
            await self._continue_tokens(prepared, prepared.tokens, job, on_step)
        return None, []

    async def _continue_tokens(
        self, prepared: "PreparedGeneration", tokens: list[Placed], job: ScheduledCall, on_step: _OnStep
    ) -> None:
        choice = _attention_choice(prepared.request)
        context = await self._desk.call(job, lambda: self._stateless.take(tokens, choice))
        await self._desk.call(job, lambda: context.sync(tokens, cancellation=job.cancellation))
        await self._steps(job, lambda: context.generate(prepared.settings, cancellation=job.cancellation), on_step)

    async def _continue_session(
        self, prepared: "PreparedGeneration", job: ScheduledCall, on_step: _OnStep
    ) -> tuple[int | None, list[EditStep]]:
        session = self._sessions.find(prepared.request.context_id or "")
        session.requests += 1
        try:
            async with self._desk.turn(job):
                self._sessions.find(session.context_id).require_revision(prepared.request.revision)
                before = session.held
                try:
                    await self._steps(job, lambda: prepared.start(session.context, job.cancellation), on_step)
                finally:
                    session.note_change()
                return session.revision, script_between(before, session.held)
        finally:
            session.requests -= 1

    async def _steps(self, job: ScheduledCall, start: Callable[[], Iterator[Step]], on_step: _OnStep) -> None:
        steps = await self._desk.call(job, start)
        is_finished = False
        try:
            while not job.is_aborted and (step := await self._desk.call(job, lambda: next(steps, None))) is not None:
                job.text += step.text
                is_finished = step.finish_reason is not None
                await on_step(step)
        finally:
            await self._desk.call(job, lambda: _close(steps))
        if not is_finished:
            await on_step(_STOPPED)


class PreparedGeneration:
    """A checked request: it continues `tokens`, or the context that it names."""

    def __init__(
        self,
        request: GenerateRequest,
        settings: GenerationSettings,
        *,
        tokens: list[Placed] | None = None,
        first_position: int | None = None,
    ) -> None:
        self.request = request
        self.settings = settings
        self.tokens = tokens
        self._first_position = first_position

    def start(self, context: EngineContext, cancellation: Cancellation) -> Iterator[Step]:
        positions = None if self._first_position is None else itertools.count(self._first_position)
        if self._first_position is not None and context.tokens and self._first_position <= context.tokens[-1].position:
            raise InputError(f"Position {self._first_position} is not after the last position of the context.")
        return context.generate(self.settings, positions, cancellation=cancellation)


class _EventWriter:
    def __init__(self, request: GenerateRequest, emit: Emit) -> None:
        self._request = request
        self._emit = emit
        self._tokens = 0
        self._last = _STOPPED

    async def write_step(self, step: Step) -> None:
        self._last = step
        if step.token_id is None:
            return
        self._tokens += 1
        has_attention = self._request.output_attentions and step.attention is not None
        event = TokenEvent(
            TokenText(step.token_id, step.text),
            self._request.request_id,
            encode_attention(step.attention) if has_attention and step.attention is not None else None,
        )
        if step.finish_reason is not None:
            event = TokenEvent(event.token, event.request_id, event.attention, TokenExtras(step.finish_reason))
        await self._emit(event)

    async def write_done(self, revision: int | None, edits: list[EditStep]) -> None:
        reason = self._last.finish_reason or "stopped"
        text = self._last.text if self._last.token_id is None else ""
        extras = DoneExtras(reason, text, revision, edits)
        await self._emit(DoneEvent(stock_finish(reason), self._tokens, self._request.request_id, extras))


def require_vocabulary(engine: Engine, token_ids: list[int]) -> list[int]:
    """Refuse ids that the model does not have, because a native library may crash the process over one."""
    size = engine.facts.vocabulary_size
    for token_id in token_ids:
        if not 0 <= token_id < size:
            raise InputError(f"There is no token {token_id}; the model has tokens 0 to {size - 1}.")
    return token_ids


def with_start(engine: Engine, text: str) -> str:
    """Put the model's start text before `text`, unless it is already there."""
    start = engine.facts.chat_template.start
    return text if text.startswith(start) else start + text


def _attention_choice(request: GenerateRequest) -> AttentionChoice | None:
    if not request.output_attentions:
        return None
    return AttentionChoice(reduce="none") if request.attention_format == "per_layer" else AttentionChoice()


def _close(steps: Iterator[Step]) -> None:
    close = getattr(steps, "close", None)
    if close is not None:
        close()
