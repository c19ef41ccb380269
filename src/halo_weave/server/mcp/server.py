"""Offers the memory to other assistants over the Model Context Protocol.

Clients connect over HTTP at `/mcp`, or start their own process and use stdin and stdout. No state of a client is kept
between calls.
"""

from collections.abc import Callable
from typing import Any

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from halo_weave import __version__
from halo_weave.tools.registry import Toolbox
from halo_weave.tools.tool import Asker, Tool, ToolOutcome, as_json

INSTRUCTIONS = (
    "An endless memory. Everything the user has said here is kept word for word: search it with search_memory before "
    "you say that you do not know something about the user or earlier work. Save what should outlast this "
    "conversation: use save_memory for facts, goals and decisions at a path, patch_notes for short notes, and remember "
    "for an exchange word for word."
)
_CALLS_AT_ONCE = 8
McpContext = ServerRequestContext[dict[str, Any]]


def mcp_server(toolbox: Callable[[], Toolbox]) -> Server[dict[str, Any]]:
    """`toolbox` is called in a thread whenever the toolbox is needed."""
    calls = anyio.CapacityLimiter(_CALLS_AT_ONCE)

    async def list_tools(_: McpContext, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        box = await anyio.to_thread.run_sync(toolbox, limiter=calls)
        return types.ListToolsResult(tools=[_described(tool) for tool in box.tools])

    async def call_tool(context: McpContext, params: types.CallToolRequestParams) -> types.CallToolResult:
        asker = Asker(_origin(context))

        def run() -> ToolOutcome:
            return toolbox().run(params.name, params.arguments or {}, asker)

        # A disconnected client does not wait, but a call that has started still runs to its end.
        return _told(await anyio.to_thread.run_sync(run, abandon_on_cancel=True, limiter=calls))

    return Server(
        "halo-weave",
        version=__version__,
        title="Halo Weave",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def http_sessions(toolbox: Callable[[], Toolbox]) -> StreamableHTTPSessionManager:
    """The session manager for `/mcp`; enter its `run` once, for as long as it serves."""
    return StreamableHTTPSessionManager(mcp_server(toolbox), json_response=True, stateless=True)


def run_on_stdio(toolbox: Callable[[], Toolbox]) -> None:
    """Serve one client until it closes stdin. Nothing else may write to stdout in the meantime."""
    server = mcp_server(toolbox)

    async def serve() -> None:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    anyio.run(serve)


def _described(tool: Tool[Any]) -> types.Tool:
    return types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=tool.parameters,
        annotations=types.ToolAnnotations(read_only_hint=not tool.changes, open_world_hint=False),
    )


def _told(outcome: ToolOutcome) -> types.CallToolResult:
    text = outcome.data["error"] if outcome.is_error else as_json(outcome.data)
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)],
        structured_content=None if outcome.is_error else outcome.data,
        is_error=outcome.is_error,
    )


def _origin(context: McpContext) -> str:
    client = context.session.client_params
    name = "" if client is None else " ".join(client.client_info.name.split())[:60]
    return f"mcp: {name}" if name else "mcp"
