"""Endpoint declarations (input, output and purpose), and the code that turns requests into responses."""

import asyncio
import logging
import re
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from halo_weave.errors import EngineUnavailable, HaloError, InputError, StoreUnavailable
from halo_weave.records.chunks import ChunkKey
from halo_weave.records.numbers import number_of_text
from halo_weave.server.http_errors import NotAllowed, TooLarge, status_of
from halo_weave.server.runtime.downloads import Download, DownloadResponse
from halo_weave.server.runtime.feed import Feed
from halo_weave.server.runtime.program import Program
from halo_weave.session.window.window import Window

LARGEST_BODY_BYTES = 8 * 1024 * 1024
LARGEST_FILE_BYTES = 4 * 1024**3
SEEN_HEADER = "x-halo-seen"
_CLIENT_CLOSED_REQUEST = 499
_KEY = re.compile(r"([0-9]{1,10000})\.([0-9]{1,18})\.(user|assistant|system)", re.ASCII)
_log = logging.getLogger(__name__)

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]


class ErrorReply(msgspec.Struct):
    error: str


class Nothing(msgspec.Struct):
    """An empty object."""


class PlainText(NamedTuple):
    text: str
    status: int = 200


class Call:
    """A validated request. `body` and `query` have the types that the endpoint declares."""

    def __init__(self, program: Program, parts: Mapping[str, str], seen: int | None, body: Any, query: Any) -> None:
        self.program = program
        self.seen = seen
        self.body = body
        self.query = query
        self.file: Path | None = None
        self._parts = parts

    def part(self, name: str) -> str:
        return self._parts[name]

    @property
    def window(self) -> Window:
        return self.program.window(self.part("window"))

    @property
    def feed(self) -> Feed:
        """The feed of the window; raises `Behind` if the requesting tab has not seen the latest events."""
        feed = self.program.feed(self.window)
        if self.seen is not None:
            feed.require_seen(self.seen)
        return feed

    @property
    def key(self) -> ChunkKey:
        return key_of_text(self.part("key"))


@dataclass(frozen=True)
class Endpoint:
    """`answer` runs in a thread; `body`, `query` and `reply` are types that msgspec supports."""

    method: Method
    path: str
    sentence: str
    answer: Callable[[Call], object]
    reply: Any = Nothing
    body: Any = None
    query: Any = None
    status: int = 200
    takes_file: bool = False
    media_type: str = "application/json"


def key_of_text(text: str) -> ChunkKey:
    """Parse a key such as `12.0.user`."""
    matched = _KEY.fullmatch(text)
    if matched is None:
        raise InputError(f"{text[:60]!r} is not a chunk key; write one such as 12.0.user.")
    turn, index, role = matched.groups()
    return ChunkKey(number_of_text(turn), int(index), role)  # type: ignore[arg-type]


def routes(program: Program, endpoints: list[Endpoint], threads: ThreadPoolExecutor) -> list[Route]:
    return [Route(one.path, _answering(program, one, threads), methods=[one.method]) for one in endpoints]


def refuse(error: Exception) -> Response:
    if isinstance(error, HaloError):
        return encoded(ErrorReply(str(error)), status_of(error))
    _log.error("A request failed.", exc_info=error)
    words = f"Internal error ({type(error).__name__}); see the log for details."
    return encoded(ErrorReply(words), 500)


def encoded(message: object, status: int = 200) -> Response:
    return Response(
        msgspec.json.encode(message), status, media_type="application/json", headers={"Cache-Control": "no-store"}
    )


def _answering(program: Program, endpoint: Endpoint, threads: ThreadPoolExecutor) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        file: Path | None = None
        try:
            _require_own_page(endpoint, request)
            if endpoint.takes_file:
                file = await _received(request, program)
            body = await _body(request) if endpoint.body is not None else b""
            work = _Work(program, endpoint, request, body, file)
            return await asyncio.get_running_loop().run_in_executor(threads, work.run)
        except ClientDisconnect:
            if file is not None:
                file.unlink(missing_ok=True)
            return Response(status_code=_CLIENT_CLOSED_REQUEST)
        except Exception as error:
            if isinstance(error, EngineUnavailable):
                program.lose_engine(error)
            return refuse(error)

    return answer


class _Work(NamedTuple):
    program: Program
    endpoint: Endpoint
    request: Request
    body: bytes
    file: Path | None

    def run(self) -> Response:
        endpoint, request = self.endpoint, self.request
        body = _decoded(self.body, endpoint.body) if endpoint.body is not None else None
        query = _converted(dict(request.query_params), endpoint.query) if endpoint.query is not None else None
        call = Call(self.program, request.path_params, _seen(request), body, query)
        call.file = self.file
        reply = endpoint.answer(call)
        match reply:
            case Download():
                return DownloadResponse(reply)
            case PlainText(text, status):
                return Response(text, status, media_type=endpoint.media_type, headers={"Cache-Control": "no-store"})
        return encoded(Nothing() if reply is None else reply, endpoint.status)


def _require_own_page(endpoint: Endpoint, request: Request) -> None:
    """Requests that change something need a header that a page from another site cannot set."""
    if endpoint.method != "GET" and request.headers.get("x-halo") != "1":
        raise NotAllowed("This request needs the header X-Halo: 1.")


def _seen(request: Request) -> int | None:
    text = request.headers.get(SEEN_HEADER)
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) <= 18):
        raise InputError(f"The header {SEEN_HEADER} is not an event number.")
    return int(text)


async def _body(request: Request) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > LARGEST_BODY_BYTES:
            raise TooLarge(f"The request is larger than {LARGEST_BODY_BYTES // 2**20} MB.")
    return bytes(body)


async def _received(request: Request, program: Program) -> Path:
    """The body in a temporary file, which the endpoint removes."""
    path, size = _place_for_file(program), 0
    try:
        with path.open("wb") as file:
            async for chunk in request.stream():
                size += len(chunk)
                if size > LARGEST_FILE_BYTES:
                    raise TooLarge(f"The file is larger than {LARGEST_FILE_BYTES // 2**30} GB.")
                await asyncio.to_thread(file.write, chunk)
    except BaseException as error:
        path.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise StoreUnavailable(f"Cannot store the uploaded file: {error.strerror}.") from error
        raise
    return path


def _place_for_file(program: Program) -> Path:
    try:
        return program.temporary.new_file(".part")
    except OSError as error:
        raise StoreUnavailable(f"Cannot store the uploaded file: {error.strerror}.") from error


def _decoded(body: bytes, kind: Any) -> Any:
    try:
        return msgspec.json.decode(body or b"{}", type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"The request is not valid: {error}.") from None


def _converted(query: Mapping[str, str], kind: Any) -> Any:
    try:
        return msgspec.convert(query, kind, strict=False)
    except msgspec.ValidationError as error:
        raise InputError(f"The request is not valid: {error}.") from None
