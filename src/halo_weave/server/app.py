"""The server as an ASGI app."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from halo_weave.engine.server_connection import is_loopback
from halo_weave.server.api import (
    chunks,
    conversation,
    health,
    heat,
    memory,
    notes,
    openapi,
    presets,
    settings,
    timeline,
    transfer,
    tree,
    windows,
)
from halo_weave.server.http.endpoints import ErrorReply, encoded, routes
from halo_weave.server.http.lanes import new_lanes
from halo_weave.server.http.security import Guard, own_names
from halo_weave.server.http.static import StaticFiles
from halo_weave.server.live.websocket import Sockets
from halo_weave.server.mcp.http import McpOverHttp
from halo_weave.server.runtime.program import Program

_CHAT = [*windows.ENDPOINTS, *chunks.ENDPOINTS, *conversation.ENDPOINTS, *heat.ENDPOINTS, *timeline.ENDPOINTS]
_MEMORY = [*memory.ENDPOINTS, *notes.ENDPOINTS, *tree.ENDPOINTS, *settings.ENDPOINTS, *presets.ENDPOINTS]
_HEALTH = [*memory.STATUS_ENDPOINTS, *health.ENDPOINTS]
ENDPOINTS = [*_CHAT, *_MEMORY, *memory.RENDERING_ENDPOINTS, *transfer.ENDPOINTS, *_HEALTH]


def create_app(program: Program, host: str = "127.0.0.1", token: str | None = None) -> ASGIApp:
    """The caller closes the program. `token` is required unless `host` accepts only connections from this machine."""
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
            *routes(program, memory.RENDERING_ENDPOINTS, lanes.rendering),
            *routes(program, transfer.ENDPOINTS, lanes.transfer),
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
