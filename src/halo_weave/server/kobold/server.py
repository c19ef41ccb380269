"""Serves an engine over the Kobold protocol with attention; see docs/wire-protocol.md.

The protocol has no authentication: anyone who can reach the port can use the model.
"""

import asyncio
import os
import socket
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from halo_weave.engine.kobold_protocol.wire import (
    AbortRequest,
    DetokenizeReply,
    DetokenizeRequest,
    GenerateRequest,
    StockDetokenizeReply,
    StockDetokenizeRequest,
    TokenCountReply,
    TokenCountRequest,
    TokenizeReply,
    TokenizeRequest,
    info_of,
    token_texts,
)
from halo_weave.engine.protocol import Engine
from halo_weave.engine.server_connection import is_loopback
from halo_weave.errors import SettingError
from halo_weave.records.tokens import Token
from halo_weave.server.http.connections import bounded_http, usual_limits
from halo_weave.server.kobold.context_routes import ContextRoutes
from halo_weave.server.kobold.engine_scheduler import EngineScheduler, ScheduledCall
from halo_weave.server.kobold.exchange import (
    EventStream,
    RequestHandler,
    answering,
    client_address,
    read_message,
    reply,
    while_connected,
)
from halo_weave.server.kobold.generation import Generations, PreparedGeneration, require_vocabulary, with_start
from halo_weave.server.kobold.sessions import Sessions, StatelessContexts
from halo_weave.system.quiet_log import log_quietly

_KOBOLD_API_VERSION = "1.2.5"
_KOBOLDCPP_VERSION = "1.100"
_KEEP_ALIVE_S = 30
_SHUTDOWN_S = 3
# Pages served from this machine may use the engine. Other pages that are open in a browser here may not.
_LOCAL_PAGES = r"https?://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?"


def create_app(engine: Engine, *, most_contexts: int = 8) -> Starlette:
    """Create the app. The caller remains responsible for closing the engine."""
    desk = EngineScheduler()
    sessions = Sessions(engine, most_contexts)
    stateless = StatelessContexts(engine)
    routes = _Routes(engine, desk, Generations(engine, desk, sessions, stateless))
    context_routes = ContextRoutes(engine, desk, sessions)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        desk.close()
        sessions.close()
        stateless.close()

    return Starlette(
        routes=[*routes.all(), *context_routes.all()],
        middleware=[
            Middleware(CORSMiddleware, allow_origin_regex=_LOCAL_PAGES, allow_methods=["*"], allow_headers=["*"])
        ],
        lifespan=lifespan,
    )


def serve(engine: Engine, host: str = "127.0.0.1", port: int = 5001, *, most_contexts: int = 8) -> None:
    """Serve until interrupted. Port 0 picks a free port."""
    with listen(host, port) as listener:
        address = f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"
        sys.stderr.write(f"Serving {engine.facts.name} at {address} (press Ctrl-C to stop).\n")
        if not is_loopback(host):
            sys.stderr.write(
                f"Warning: {host} can be reached from other machines, and this protocol has no password: anyone who "
                "can reach the port can use the model and read what is sent to it.\n"
            )
        log_quietly()
        _uvicorn(engine, most_contexts).run(sockets=[listener])


@contextmanager
def serving(engine: Engine, *, most_contexts: int = 8) -> Iterator[str]:
    """Serve in a background thread on a free local port, and yield the address."""
    with listen("127.0.0.1", 0) as listener:
        server = _uvicorn(engine, most_contexts)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, name="kobold-server")
        thread.start()
        try:
            # Connections queue in the listener until the server accepts them.
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


def _uvicorn(engine: Engine, most_contexts: int) -> uvicorn.Server:
    limits = usual_limits()
    config = uvicorn.Config(
        create_app(engine, most_contexts=most_contexts),
        http=bounded_http(limits),
        backlog=limits.most,
        log_config=None,
        log_level="warning",
        lifespan="on",
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=_SHUTDOWN_S,
    )
    return uvicorn.Server(config)


def listen(host: str, port: int) -> socket.socket:
    """Open a listening socket. Port 0 picks a free port."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        # asyncio sets TCP_NODELAY only on a socket that names TCP; without it each small response is delayed by 40 ms.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    except OSError as error:
        raise SettingError(f"The server cannot listen on {host}: {error}.") from error
    try:
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen()
    except (OSError, OverflowError) as error:
        listener.close()
        raise SettingError(f"The server cannot listen on {host} port {port}: {error}; choose another port.") from error
    return listener


class _Routes:
    """The routes of the protocol without our extensions."""

    def __init__(self, engine: Engine, desk: EngineScheduler, generations: Generations) -> None:
        self._engine = engine
        self._desk = desk
        self._generations = generations

    def all(self) -> list[Route]:
        gets: dict[str, RequestHandler] = {
            "/api/v1/model": self.model,
            "/api/v1/info/version": self.kobold_version,
            "/api/extra/version": self.version,
            "/api/extra/perf": self.load,
            "/api/v1/config/max_context_length": self.context_length,
            "/api/extra/true_max_context_length": self.context_length,
        }
        posts: dict[str, RequestHandler] = {
            "/api/v1/tokenize": self.tokenize,
            "/api/v1/detokenize": self.detokenize,
            "/api/v1/generate": self.generate,
            "/api/extra/tokencount": self.token_count,
            "/api/extra/detokenize": self.stock_detokenize,
            "/api/extra/abort": self.abort,
            "/api/extra/generate/check": self.check,
            "/api/extra/generate/stream": self.stream,
        }
        return [
            *(Route(path, answering(endpoint)) for path, endpoint in gets.items()),
            *(Route(path, answering(endpoint), methods=["POST"]) for path, endpoint in posts.items()),
        ]

    async def model(self, _: Request) -> Response:
        return reply(info_of(self._engine.facts))

    async def kobold_version(self, _: Request) -> Response:
        return reply({"result": _KOBOLD_API_VERSION})

    async def version(self, _: Request) -> Response:
        return reply({"result": "KoboldCpp", "version": _KOBOLDCPP_VERSION})

    async def load(self, _: Request) -> Response:
        return reply({"queue": self._desk.waiting, "idle": int(self._desk.is_idle)})

    async def context_length(self, _: Request) -> Response:
        return reply({"value": self._engine.facts.usable_context})

    async def tokenize(self, request: Request) -> Response:
        wanted = await read_message(request, TokenizeRequest)
        tokens = await self._tokens(wanted.text, special=wanted.parse_special, start=wanted.add_special_tokens)
        return reply(TokenizeReply(token_texts(tokens), [token.id for token in tokens], len(tokens)))

    async def token_count(self, request: Request) -> Response:
        wanted = await read_message(request, TokenCountRequest)
        tokens = await self._tokens(wanted.prompt, special=True, start=wanted.special)
        return reply(TokenCountReply([token.id for token in tokens], len(tokens)))

    async def detokenize(self, request: Request) -> Response:
        wanted = await read_message(request, DetokenizeRequest)
        return reply(DetokenizeReply(await self._text(wanted.token_ids)))

    async def stock_detokenize(self, request: Request) -> Response:
        wanted = await read_message(request, StockDetokenizeRequest)
        return reply(StockDetokenizeReply(await self._text(wanted.ids)))

    async def stream(self, request: Request) -> Response:
        prepared, job = await self._prepare(request)
        return EventStream(lambda emit: self._generations.stream(prepared, job, emit))

    async def generate(self, request: Request) -> Response:
        prepared, job = await self._prepare(request)

        async def work() -> Response:
            return reply({"results": [{"text": await self._generations.text(prepared, job)}]})

        return await while_connected(request, work())

    async def abort(self, request: Request) -> Response:
        wanted = await read_message(request, AbortRequest)
        success = self._desk.abort(wanted, client_address(request))
        return reply({"success": "true" if success else "false", "done": "true"})

    async def check(self, request: Request) -> Response:
        wanted = await read_message(request, AbortRequest)
        texts = [job.text for job in self._desk.find(wanted, client_address(request))]
        return reply({"results": [{"text": texts[0] if texts else ""}]})

    async def _prepare(self, request: Request) -> tuple[PreparedGeneration, ScheduledCall]:
        wanted = await read_message(request, GenerateRequest)
        request_id = wanted.request_id if wanted.request_id is not None else wanted.genkey
        address = client_address(request)
        job = ScheduledCall(wanted.context_id or address, address, request_id, wanted.context_id)
        return await self._generations.prepare(wanted), job

    async def _tokens(self, text: str, *, special: bool, start: bool) -> list[Token]:
        # Not queued: this needs no context, and counting tokens should not wait for another client's reply.
        whole = with_start(self._engine, text) if start else text
        return await asyncio.to_thread(self._engine.tokenize, whole, special=special)

    async def _text(self, token_ids: list[int]) -> str:
        return await asyncio.to_thread(self._engine.detokenize, require_vocabulary(self._engine, token_ids))
