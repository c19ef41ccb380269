"""The server as an ASGI app."""

from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from halo_weave.engine.server_connection import is_loopback
from halo_weave.server import (
    chunks_api,
    health_api,
    memory_api,
    notes_api,
    openapi,
    settings_api,
    transfer_api,
    tree_api,
    windows_api,
)
from halo_weave.server.endpoints import ErrorReply, encoded, routes
from halo_weave.server.mcp_http import McpOverHttp
from halo_weave.server.program import Program
from halo_weave.server.security import Guard, own_names
from halo_weave.server.static import StaticFiles
from halo_weave.server.websocket import Sockets

_THREADS = 16
ENDPOINTS = [
    *windows_api.ENDPOINTS,
    *chunks_api.ENDPOINTS,
    *memory_api.ENDPOINTS,
    *notes_api.ENDPOINTS,
    *tree_api.ENDPOINTS,
    *settings_api.ENDPOINTS,
    *transfer_api.ENDPOINTS,
    *health_api.ENDPOINTS,
]


def create_app(program: Program, host: str = "127.0.0.1", token: str | None = None) -> ASGIApp:
    """The program stays the caller's to close. `token` is needed unless `host` is this machine alone."""
    threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="server")
    apart = ThreadPoolExecutor(1, thread_name_prefix="server apart")
    described = encoded(openapi.description(ENDPOINTS))
    mcp = McpOverHttp(lambda: program.tools.assistants)

    async def description(_: Request) -> Response:
        return described

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with mcp.running():
            yield
        for pool in (threads, apart):
            pool.shutdown(wait=False, cancel_futures=True)

    app = Starlette(
        routes=[
            *StaticFiles().routes(),
            Route("/openapi.json", description),
            *routes(program, [one for one in ENDPOINTS if not one.is_apart], threads),
            *routes(program, [one for one in ENDPOINTS if one.is_apart], apart),
            *Sockets(program, threads).routes(),
            *mcp.routes(),
        ],
        exception_handlers={404: _not_found, 405: _not_found},
        lifespan=lifespan,
    )
    return Guard(app, names=own_names(host), only_loopback=is_loopback(host), token=token)


async def _not_found(request: Request, _: Exception) -> Response:
    return encoded(ErrorReply(f"There is nothing at {request.method} {request.url.path[:100]}."), 404)
