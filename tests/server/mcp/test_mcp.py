"""Other assistants use the memory through the official MCP client, over HTTP and over stdin and stdout."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Literal

import httpx2
import pytest
from mcp import Client
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from halo_weave.memory.memory import open_memory
from halo_weave.server.mcp import server as mcp
from halo_weave.server.mcp.server import http_sessions
from halo_weave.tools.registry import Toolbox
from support.servers.mcp_clients import called, http_client, refused, run, stdio_client
from support.servers.processes import ECHO, running
from support.servers.served import served

Transport = Literal["http", "stdio"]
TRANSPORTS: tuple[Transport, ...] = ("http", "stdio")
TOOLS = {
    "search_memory", "read_memory", "save_memory", "list_memory", "delete_memory", "query_heading", "query_notes",
    "patch_notes", "remember",
}  # fmt: skip
ENDLESS = "[limit(1; repeat(.) | select(false))]"


@asynccontextmanager
async def connected(transport: Transport, folder: Path, mode: str = "auto") -> AsyncIterator[Client]:
    if transport == "stdio":
        async with stdio_client(folder / "halo.db", mode) as client:
            yield client
        return
    with served(folder) as server:
        async with http_client(server.address, mode=mode) as client:
            yield client


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_every_tool_does_what_it_says(transport: Transport, tmp_path: Path) -> None:
    async def work() -> None:
        async with connected(transport, tmp_path) as client:
            tools = (await client.list_tools()).tools
            assert {tool.name for tool in tools} == TOOLS
            assert all(tool.description and tool.input_schema["type"] == "object" for tool in tools)

            said = await called(
                client, "remember", user="My cat is called Mia.", assistant="A fine name for a cat.",
                time="2026-02-03T10:00:00+00:00", source="notebook",
            )  # fmt: skip
            assert said == {"turn": "1", "chunks": 2, "time": "2026-02-03T10:00:00+00:00"}
            found = (await called(client, "search_memory", query="the cat", role="user", since="2026-02-01"))["found"]
            assert [(one["text"], one["role"], one["time"], one["source"]) for one in found] == [
                ("My cat is called Mia.", "user", "2026-02-03T10:00:00+00:00", "notebook")
            ]
            assert (await called(client, "search_memory", query="cat", until="2026-02-01"))["found"] == []

            saved = await called(client, "save_memory", path="User/Pets", content={"cat": "Mia"})
            assert (saved["path"], saved["version"]) == ("User/Pets", 1)
            read = await called(client, "read_memory", path="User/Pets")
            assert read["content"] == {"cat": "Mia"}
            assert "My cat is called Mia." in [one["text"] for one in read["context"]]
            assert await called(client, "list_memory") == {"paths": ["User/Pets"]}
            (entry,) = (await called(client, "query_heading", path="User", query="animals"))["entries"]
            assert entry["path"] == "User/Pets"
            assert await called(client, "delete_memory", path="User", recursive=True) == {"deleted": ["User/Pets"]}
            assert await called(client, "list_memory") == {"paths": []}

            changed = await called(client, "patch_notes", filter='.topics.cat = "Mia"')
            assert changed == {"version": 1, "changes": [{"path": ".topics.cat", "value": "Mia"}]}
            assert await called(client, "query_notes", filter=".topics") == {"values": [{"cat": "Mia"}]}

    run(work)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_clients_of_older_versions_are_understood_too(transport: Transport, tmp_path: Path) -> None:
    async def work() -> None:
        async with connected(transport, tmp_path, "legacy") as client:
            assert await called(client, "list_memory") == {"paths": []}

    run(work)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_bad_arguments_get_one_line_and_change_nothing(transport: Transport, tmp_path: Path) -> None:
    bad: list[tuple[str, dict[str, Any]]] = [
        ("search_memory", {}),
        ("search_memory", {"query": ""}),
        ("search_memory", {"query": "cat", "limit": 1000}),
        ("search_memory", {"query": "cat", "role": "nobody"}),
        ("search_memory", {"query": "cat", "since": "yesterday"}),
        ("search_memory", {"query": "cat", "depth": 3}),
        ("remember", {"user": " "}),
        ("remember", {"user": "hello", "time": "soon"}),
        ("remember", {"user": "x" * 200_001}),
        ("save_memory", {"path": "", "content": 1}),
        ("save_memory", {"path": "A//B", "content": 1}),
        ("save_memory", {"path": "A"}),
        ("save_memory", {"path": "A", "content": 1, "context_tokens": -1}),
        ("save_memory", {"path": "A", "content": 1, "expected_version": 7}),
        ("save_memory", {"path": "A", "content": "x" * 100_000}),
        ("read_memory", {"path": "Nowhere"}),
        ("query_heading", {"path": "Nowhere"}),
        ("delete_memory", {"path": "Nowhere"}),
        ("query_notes", {"filter": ".["}),
        ("query_notes", {"filter": "input"}),
        ("query_notes", {"filter": ENDLESS}),
        ("patch_notes", {"filter": ".reminders"}),
        ("patch_notes", {"filter": "1, 2"}),
        ("remove_everything", {}),
    ]

    async def work() -> None:
        async with connected(transport, tmp_path) as client:
            for name, arguments in bad:
                sentence = await refused(client, name, **arguments)
                assert sentence
                assert "\n" not in sentence
                assert "Traceback" not in sentence
            assert await called(client, "list_memory") == {"paths": []}
            assert (await called(client, "query_notes", filter=".topics"))["values"] == [{}]
            assert (await called(client, "search_memory", query="hello"))["found"] == []

    run(work)


def test_many_clients_work_on_one_memory_at_once(tmp_path: Path) -> None:
    """Four clients over HTTP, and two processes besides the server."""

    async def one(client: Client, name: str) -> None:
        for number in range(5):
            await called(client, "remember", user=f"{name} says number {number}", assistant="Noted.")
            await called(client, "save_memory", path=f"{name}/{number}", content=number, context_tokens=100)
            await called(client, "patch_notes", filter=f".topics.{name} += [{number}]")

    async def over_http(address: str, name: str) -> None:
        async with http_client(address) as client:
            await one(client, name)

    async def over_stdio(name: str) -> None:
        async with stdio_client(tmp_path / "halo.db") as client:
            await one(client, name)

    async def work(address: str) -> None:
        names = ["ann", "bea", "cleo", "dora"]
        async with asyncio.TaskGroup() as group:
            for name in names:
                group.create_task(over_http(address, name))
            for name in ("eve", "fay"):
                group.create_task(over_stdio(name))
        async with http_client(address) as client:
            paths = (await called(client, "list_memory"))["paths"]
            assert len(paths) == 6 * 5
            (topics,) = (await called(client, "query_notes", filter=".topics"))["values"]
            assert topics == {name: [0, 1, 2, 3, 4] for name in (*names, "eve", "fay")}

    with served(tmp_path) as server:
        run(lambda: work(server.address))
        assert server.program.memory.store.verify() == []
        assert server.program.memory.stats().chunks == 2 * 6 * 5
        texts = [one["text"] for one in server.get("/api/search?q=eve+says+number+3")]
        assert "eve says number 3" in texts


def test_a_process_that_is_killed_in_mid_call_loses_nothing_that_it_acknowledged(tmp_path: Path) -> None:
    memory = tmp_path / "halo.db"

    async def work() -> None:
        async with stdio_client(memory) as client:
            await called(client, "save_memory", path="A", content="kept")
            call = asyncio.create_task(client.call_tool("query_notes", {"filter": ENDLESS}))
            await asyncio.sleep(0.5)
            os.kill(int(Path(f"{memory}.pid").read_text()), signal.SIGKILL)
            await call

    with pytest.raises(BaseException, match=r"."):  # the client reports in its own way that the server is gone
        run(work)

    async def again() -> None:
        async with stdio_client(memory) as client:
            assert (await called(client, "read_memory", path="A"))["content"] == "kept"
            await called(client, "save_memory", path="B", content=1)

    run(again)
    assert _faults(memory) == []


def test_a_server_that_is_killed_in_mid_call_loses_nothing_that_it_acknowledged(tmp_path: Path) -> None:
    async def until_killed(address: str, pid: int) -> None:
        async with http_client(address) as client:
            await called(client, "save_memory", path="A", content="kept")
            call = asyncio.create_task(client.call_tool("query_notes", {"filter": ENDLESS}))
            await asyncio.sleep(0.5)
            os.kill(pid, signal.SIGKILL)
            await call

    async def again(address: str) -> None:
        async with http_client(address) as client:
            assert (await called(client, "read_memory", path="A"))["content"] == "kept"

    with running(tmp_path, *ECHO, "--port", "0") as process, pytest.raises(BaseException, match=r"."):
        run(lambda: until_killed(process.address, process.popen.pid))
    with running(tmp_path, *ECHO, "--port", "0") as process:
        run(lambda: again(process.address))


@contextmanager
def guarded(folder: Path) -> Iterator[str]:
    with served(folder, host="0.0.0.0", token="t" * 40) as server:
        yield server.address


def test_the_rules_of_the_server_hold_for_other_assistants_too(tmp_path: Path) -> None:
    ask = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    accepts = {"Accept": "application/json, text/event-stream"}
    with guarded(tmp_path) as address:
        key = {"Authorization": f"Bearer {'t' * 40}"}
        with httpx2.Client(headers=accepts, trust_env=False) as http:
            assert http.post(f"{address}/mcp", json=ask).status_code == 401
            assert http.post(f"{address}/mcp", json=ask, headers={**key, "Host": "evil.example"}).status_code == 403
            foreign = {**key, "Origin": "http://evil.example"}
            assert http.post(f"{address}/mcp", json=ask, headers=foreign).status_code == 403
            assert (
                http.post(f"{address}/mcp", json=ask, headers={**key, "Sec-Fetch-Site": "cross-site"}).status_code
                == 403
            )
            assert http.post(f"{address}/mcp", content=b"x" * 5_000_000, headers=key).status_code == 413
            assert http.post(f"{address}/mcp", json=ask, headers=key).status_code == 200

        async def work() -> None:
            async with http_client(address, key) as client:
                assert await called(client, "list_memory") == {"paths": []}

        run(work)


def test_a_load_that_failed_is_tried_again_with_the_next_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    loads: list[object] = []

    def fail_once(toolbox: Callable[[], Toolbox]) -> StreamableHTTPSessionManager:
        loads.append(toolbox)
        if len(loads) == 1:
            raise MemoryError("There is no room for it.")
        return http_sessions(toolbox)

    monkeypatch.setattr(mcp, "http_sessions", fail_once)

    async def list_tools() -> int:
        async with http_client(one.address) as client:
            return len((await client.list_tools()).tools)

    with served(tmp_path) as one:
        refused = one.http.post("/mcp", json={})
        assert refused.status_code == 500
        assert refused.json() == {"error": "Internal error (MemoryError); see the log for details."}
        assert run(list_tools) > 0
        assert len(loads) == 2
    assert "There is no room for it." in caplog.text


def test_nothing_but_the_protocol_gets_to_stdout_and_the_end_of_stdin_ends_it(tmp_path: Path) -> None:
    hello = {
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
    }  # fmt: skip
    ask = {
        "jsonrpc": "2.0",
        "id": 2,
        "method": "tools/call",
        "params": {"name": "remember", "arguments": {"user": "x"}},
    }
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    lines = [json.dumps(hello), "this is no JSON", json.dumps(ready), json.dumps(ask)]
    command = [sys.executable, "-m", "halo_weave", "mcp", "--db", str(tmp_path / "halo.db")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("".join(f"{line}\n" for line in lines).encode())
        process.stdin.flush()
        answers: list[dict[str, Any]] = []
        while not answers or answers[-1].get("id") != 2:
            answers.append(json.loads(process.stdout.readline()))
        process.stdin.close()
        rest = process.stdout.read()
        assert process.wait() == 0
    assert answers[0]["result"]["serverInfo"]["name"] == "halo-weave"
    assert answers[-1]["result"]["structuredContent"]["turn"] == "1"
    assert rest == b""


def _faults(memory: Path) -> list[str]:
    opened = open_memory(memory)
    try:
        return opened.store.verify()
    finally:
        opened.close()
