"""One HTTP exchange on the server: reads a bounded body, responds, and notices when the client disconnects."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from halo_weave.engine.kobold_protocol.wire import ErrorDetail, ErrorKind, WireError
from halo_weave.errors import ContextTooLarge, EngineStopped, HaloError, InputError
from halo_weave.server.kobold.sessions import NoSuchContext, RevisionMismatch, ServerBusy
from halo_weave.text.server_sent_events import HEARTBEAT, frame_event

_T = TypeVar("_T")
_log = logging.getLogger(__name__)

LARGEST_BODY_BYTES = 64 * 1024 * 1024
_HEARTBEAT_S = 5.0
_STALLED_S = 30.0
_CLIENT_CLOSED_REQUEST = 499

_STATUS: list[tuple[type[HaloError], int, ErrorKind]] = [
    (ContextTooLarge, 413, "too_large"),
    (NoSuchContext, 404, "no_context"),
    (RevisionMismatch, 409, "revision"),
    (EngineStopped, 409, "stopped"),
    (ServerBusy, 503, "busy"),
    (InputError, 400, "input"),
    (HaloError, 500, "engine"),
]


class BodyTooLarge(InputError):
    pass


async def read_message(request: Request, kind: type[_T]) -> _T:
    """Decode the request's body; an empty body counts as an empty message."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > LARGEST_BODY_BYTES:
            raise BodyTooLarge(f"The request is larger than {LARGEST_BODY_BYTES} bytes.")
    try:
        return msgspec.json.decode(bytes(body) or b"{}", type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise InputError(f"The request is not valid: {error}.") from error


def client_address(request: Request) -> str:
    return request.client.host if request.client is not None else ""


def reply(message: object, status: int = 200) -> Response:
    return Response(msgspec.json.encode(message), status, media_type="application/json")


def describe(error: Exception) -> tuple[int, ErrorDetail]:
    """Return the HTTP status and the error detail for an exception."""
    if isinstance(error, ContextTooLarge):
        return 413, ErrorDetail(str(error), "too_large", error.wanted_tokens, error.usable_tokens)
    if isinstance(error, BodyTooLarge):
        return 413, ErrorDetail(str(error), "input")
    for kind, status, name in _STATUS:
        if isinstance(error, kind):
            return status, ErrorDetail(str(error), name)
    _log.error("A request failed.", exc_info=error)
    return 500, ErrorDetail(f"The engine failed: {type(error).__name__}: {error}", "engine")


def refuse(error: Exception) -> Response:
    status, detail = describe(error)
    return reply(WireError(detail), status)


RequestHandler = Callable[[Request], Coroutine[Any, Any, Response]]


def answering(endpoint: RequestHandler) -> RequestHandler:
    """Wrap an endpoint so that its exceptions become responses."""

    async def answer(request: Request) -> Response:
        try:
            return await endpoint(request)
        except ClientDisconnect:
            return _nobody_listens()
        except Exception as error:
            return refuse(error)

    return answer


async def while_connected(request: Request, work: Coroutine[Any, Any, Response]) -> Response:
    """Return the work's response; cancel the work if the client disconnects."""
    return await _until_gone(request.receive, work) or _nobody_listens()


def _nobody_listens() -> Response:
    return Response(status_code=_CLIENT_CLOSED_REQUEST)


class EventStream(Response):
    """A response of server-sent events written by `produce`, with heartbeats while it is silent."""

    def __init__(self, produce: Callable[[Callable[[object], Awaitable[None]]], Coroutine[Any, Any, None]]) -> None:
        super().__init__(media_type="text/event-stream", headers={"cache-control": "no-cache"})
        del self.headers["content-length"]
        self._produce = produce

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        async def write(data: bytes, *, more: bool = True) -> None:
            async with asyncio.timeout(_STALLED_S):
                await send({"type": "http.response.body", "body": data, "more_body": more})

        async def emit(event: object) -> None:
            await write(frame_event(msgspec.json.encode(event)))

        async def run() -> None:
            heartbeat = asyncio.create_task(_beat(write))
            try:
                await self._produce(emit)
            finally:
                heartbeat.cancel()
                await asyncio.wait({heartbeat})
            await write(b"", more=False)

        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        try:
            await _until_gone(receive, run())
        except TimeoutError:
            _log.warning("A client read nothing for %g s; its generation was stopped.", _STALLED_S)


async def _beat(write: Callable[[bytes], Awaitable[None]]) -> None:
    try:
        while True:
            await asyncio.sleep(_HEARTBEAT_S)
            await write(HEARTBEAT)
    except TimeoutError:
        return


async def _until_gone(receive: Receive, work: Coroutine[Any, Any, _T]) -> _T | None:
    working = asyncio.create_task(work)
    gone = asyncio.create_task(_disconnected(receive))
    try:
        await asyncio.wait({working, gone}, return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        working.cancel()
        gone.cancel()
        await asyncio.gather(working, gone, return_exceptions=True)


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
