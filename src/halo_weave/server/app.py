"""The server as an ASGI app."""

from collections.abc import AsyncIterator
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
from halo_weave.server.lanes import new_lanes
from halo_weave.server.mcp_http import McpOverHttp
from halo_weave.server.program import Program
from halo_weave.server.security import Guard, own_names
from halo_weave.server.static import StaticFiles
from halo_weave.server.websocket import Sockets

_CHAT = [*windows_api.ENDPOINTS, *chunks_api.ENDPOINTS]
_MEMORY = [*memory_api.ENDPOINTS, *notes_api.ENDPOINTS, *tree_api.ENDPOINTS, *settings_api.ENDPOINTS]
_HEALTH = [*memory_api.STATUS_ENDPOINTS, *health_api.ENDPOINTS]
ENDPOINTS = [*_CHAT, *_MEMORY, *memory_api.RENDERING_ENDPOINTS, *transfer_api.ENDPOINTS, *_HEALTH]


def create_app(program: Program, host: str = "127.0.0.1", token: str | None = None) -> ASGIApp:
    """The program stays the caller's to close. `token` is needed unless `host` is this machine alone."""
    lanes = new_lanes()
    described = encoded(openapi.description(ENDPOINTS))
    mcp = McpOverHttp(lambda: program.tools.assistants)

    async def description(_: Request) -> Response:
        return described

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with mcp.running():
            yield
        lanes.shut_down()

    app = Starlette(
        routes=[
            *StaticFiles().routes(),
            Route("/openapi.json", description),
            *routes(program, _CHAT, lanes.chat),
            *routes(program, _MEMORY, lanes.memory),
            *routes(program, memory_api.RENDERING_ENDPOINTS, lanes.rendering),
            *routes(program, transfer_api.ENDPOINTS, lanes.transfer),
            *routes(program, _HEALTH, lanes.health),
            *Sockets(program, lanes).routes(),
            *mcp.routes(),
        ],
        exception_handlers={404: _not_found, 405: _not_found},
        lifespan=lifespan,
    )
    return Guard(app, names=own_names(host), only_loopback=is_loopback(host), token=token)


async def _not_found(request: Request, _: Exception) -> Response:
    return encoded(ErrorReply(f"Unknown endpoint: {request.method} {request.scope['path'][:100]}."), 404)
