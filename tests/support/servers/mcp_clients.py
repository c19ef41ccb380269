"""The official Model Context Protocol client against our servers, over both transports."""

import asyncio
import os
import shlex
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

T = TypeVar("T")
PATIENCE_S = 60.0


def stdio_server(memory: Path) -> StdioServerParameters:
    """Return a server process for this memory file; it writes its process id to a file beside it."""
    command = f"echo $$ > {shlex.quote(str(memory))}.pid; exec {shlex.join([sys.executable, '-m', 'halo_weave'])} mcp "
    return StdioServerParameters(
        command="/bin/sh", args=["-c", f"{command} --db {shlex.quote(str(memory))}"], env=dict(os.environ)
    )


@asynccontextmanager
async def http_client(address: str, headers: dict[str, str] | None = None, mode: str = "auto") -> AsyncIterator[Client]:
    async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE_S, trust_env=False) as http:
        transport = streamable_http_client(f"{address}/mcp", http_client=http)
        async with Client(transport, mode=mode, read_timeout_seconds=PATIENCE_S, cache=None) as client:
            yield client


@asynccontextmanager
async def stdio_client(memory: Path, mode: str = "auto") -> AsyncIterator[Client]:
    async with Client(stdio_server(memory), mode=mode, read_timeout_seconds=PATIENCE_S, cache=None) as client:
        yield client


def run(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    return asyncio.run(work())


async def called(client: Client, name: str, /, **arguments: Any) -> Any:
    """Call a tool and return its result; an error fails the test."""
    result = await client.call_tool(name, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def refused(client: Client, name: str, /, **arguments: Any) -> str:
    result = await client.call_tool(name, arguments)
    assert result.is_error, (name, result.content)
    (content,) = result.content
    assert content.type == "text"
    return content.text
