"""The server's `/mcp` endpoint. The protocol library takes a second to load, so the first client loads it."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from halo_weave.server.http.endpoints import refuse
from halo_weave.tools.registry import Toolbox

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

PATH = "/mcp"
_log = logging.getLogger(__name__)


class McpOverHttp:
    """An ASGI app; `running` must be active while it serves."""

    def __init__(self, toolbox: Callable[[], Toolbox]) -> None:
        self._toolbox = toolbox
        self._app: asyncio.Future[ASGIApp] | None = None
        self._serving: asyncio.Task[None] | None = None
        self._is_over = asyncio.Event()

    def routes(self) -> list[Route]:
        return [Route(PATH, self)]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._app is None:
            self._app = asyncio.get_running_loop().create_future()
            self._serving = asyncio.create_task(self._serve(self._app))
        try:
            app: ASGIApp = await asyncio.shield(self._app)
        except Exception as error:
            app = refuse(error)
        await app(scope, receive, send)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        yield
        self._is_over.set()
        if self._serving is not None:
            await self._serving

    async def _serve(self, ready: "asyncio.Future[ASGIApp]") -> None:
        """Runs in its own task, because the first client may leave long before the last one."""
        try:
            sessions = await asyncio.to_thread(self._load)
            async with sessions.run():
                ready.set_result(sessions.asgi_app)
                await self._is_over.wait()
        except Exception as error:
            self._app = None  # the next request tries again
            if ready.done():
                _log.exception("The %s server stopped.", PATH)
            else:
                ready.set_exception(error)

    def _load(self) -> "StreamableHTTPSessionManager":
        from halo_weave.server.mcp.server import http_sessions

        return http_sessions(self._toolbox)
