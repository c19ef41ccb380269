"""Idle or hostile clients cannot hold the server's connections; the server logs this in a log that stays small."""

import logging
import resource
import socket
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, MutableMapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn

from halo_weave.server.http.connections import ConnectionLimits, usual_limits
from halo_weave.server.kobold.server import listen
from halo_weave.server.running import uvicorn_config
from halo_weave.system.quiet_log import RepeatFilter
from support.servers.processes import ECHO, running
from support.servers.raw_http import connected, read_to_end
from support.servers.served import PATIENCE_S, until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="files are limited in another way there")

NEVER_S = 3600.0
PATIENT = ConnectionLimits(most=100, header_s=NEVER_S, body_s=NEVER_S, answer_s=NEVER_S)
Message = MutableMapping[str, Any]


class Counting:
    """A small app that reads the body only of /read, and sends a long answer to /long."""

    def __init__(self) -> None:
        self.disconnects = 0

    async def __call__(
        self, scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
    ) -> None:
        if scope["type"] == "lifespan":
            for _ in range(2):
                await send({"type": (await receive())["type"] + ".complete"})
            return
        while scope["path"] == "/read":
            message = await receive()
            if message["type"] == "http.disconnect":
                self.disconnects += 1
                return
            if not message.get("more_body"):
                break
        length = 64 * 1024 * 1024 if scope["path"] == "/long" else 2
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % length)]})
        await send({"type": "http.response.body", "body": b"x" * length})


class Running:
    def __init__(self, address: str, app: Counting, server: uvicorn.Server) -> None:
        self.address = address
        self.app = app
        self._server = server

    @property
    def connections(self) -> int:
        return len(self._server.server_state.connections)


@contextmanager
def limited(limits: ConnectionLimits) -> Iterator[Running]:
    app = Counting()
    with listen("127.0.0.1", 0) as listener:
        server = uvicorn.Server(uvicorn_config(app, "127.0.0.1", limits))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield Running(f"http://127.0.0.1:{listener.getsockname()[1]}", app, server)
        finally:
            server.should_exit = True
            thread.join()


WHOLE = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.parametrize("before", [b"", WHOLE])
@pytest.mark.parametrize("sent", [b"\r\n", b"GET / HTTP/1.1\r\nHost: local"])
def test_a_request_whose_header_does_not_come_is_given_up(before: bytes, sent: bytes) -> None:
    with limited(PATIENT._replace(header_s=0.05)) as server, connected(server.address) as connection:
        connection.sendall(before)
        if before:
            until(lambda: connection.recv(65_536, socket.MSG_PEEK).endswith(b"xx"))
        connection.sendall(sent)
        read_to_end(connection)  # fails if the server does not close it


def test_a_connection_without_any_request_is_given_up() -> None:
    with limited(PATIENT._replace(header_s=0.05)) as server, connected(server.address) as connection:
        assert read_to_end(connection) == b""


def test_a_header_that_comes_byte_by_byte_is_given_up() -> None:
    with limited(PATIENT._replace(header_s=0.2)) as server, connected(server.address) as connection:
        connection.settimeout(0.02)
        for _ in range(int(PATIENCE_S / 0.02)):
            try:
                connection.sendall(b"x")
                if connection.recv(1) == b"":
                    break
            except TimeoutError:
                continue
            except (BrokenPipeError, ConnectionResetError):
                break
        else:
            pytest.fail("The connection was kept.")


def test_a_connection_that_is_kept_for_the_next_request_is_closed_when_none_comes() -> None:
    with limited(PATIENT) as server, connected(server.address) as connection:
        connection.sendall(WHOLE)
        until(lambda: connection.recv(65_536, socket.MSG_PEEK).endswith(b"xx"))
        protocol = next(iter(server._server.server_state.connections))
        assert protocol.timeout_keep_alive_task is not None  # type: ignore[union-attr]


@pytest.mark.parametrize("framing", [b"Content-Length: 1000000", b"Transfer-Encoding: chunked"])
def test_a_body_that_does_not_come_is_given_up(framing: bytes) -> None:
    with limited(PATIENT._replace(body_s=0.05)) as server, connected(server.address) as connection:
        connection.sendall(b"POST /read HTTP/1.1\r\nHost: localhost\r\n" + framing + b"\r\n\r\n3\r\nabc\r\n")
        read_to_end(connection)
        until(lambda: server.app.disconnects == 1)


def _send_for_ever(connection: socket.socket, pieces: bytes) -> None:
    while True:
        connection.sendall(pieces)


def test_a_body_that_nobody_reads_cannot_be_sent_for_ever() -> None:
    with limited(PATIENT._replace(body_s=0.05, body_bytes=0)) as server, connected(server.address) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        pieces = b"3\r\nabc\r\n" * 100
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            _send_for_ever(connection, pieces)


def test_a_body_that_keeps_coming_is_taken_however_long_it_takes() -> None:
    with limited(PATIENT._replace(body_s=0.02, body_bytes=0)) as server, connected(server.address) as connection:
        connection.sendall(b"POST /read HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\nConnection: close\r\n\r\n")
        for _ in range(10):
            threading.Event().wait(0.02)
            connection.sendall(b"x")
        assert read_to_end(connection).endswith(b"\r\n\r\nxx")


@pytest.mark.parametrize("more", [b"", b"Connection: close\r\n"])
def test_an_answer_that_nobody_takes_is_given_up(more: bytes) -> None:
    with limited(PATIENT._replace(answer_s=0.05)) as server, connected(server.address) as connection:
        connection.sendall(b"GET /long HTTP/1.1\r\nHost: localhost\r\n" + more + b"\r\n")
        connection.recv(1)
        until(lambda: server.connections == 0)


@pytest.mark.parametrize("more", [b"a: b\r\n" * 300, b"a: " + b"b" * 9000 + b"\r\n", b"Content-Length: 2\r\n"])
def test_an_upgrade_that_the_websocket_library_cannot_read_is_answered(more: bytes) -> None:
    asked = b"Upgrade: websocket\r\nConnection: Upgrade, close\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    with limited(PATIENT) as server, connected(server.address) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n" + asked + more + b"\r\nxx")
        assert read_to_end(connection).startswith(b"HTTP/1.1 200 ")


def test_beyond_the_most_connections_each_new_one_is_refused_at_once() -> None:
    with limited(PATIENT._replace(most=3)) as server, ExitStack() as opened:
        held = [opened.enter_context(connected(server.address)) for _ in range(3)]
        until(lambda: server.connections == 3)
        with connected(server.address) as refused:
            assert read_to_end(refused).startswith(b"HTTP/1.1 503 ")
        held[0].close()
        until(lambda: server.connections == 2)
        assert httpx2.get(server.address, trust_env=False).text == "xx"


@pytest.mark.parametrize(
    ("soft", "most"), [(64, 16), (256, 64), (1024, 256), (1_000_000, 1024), (resource.RLIM_INFINITY, 1024), (10, 8)]
)
def test_the_most_connections_follow_from_how_many_files_may_be_open(
    monkeypatch: pytest.MonkeyPatch, soft: int, most: int
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, soft))
    assert usual_limits().most == most


def test_a_server_may_open_as_many_files_as_its_connections_need() -> None:
    program = (
        "import resource; from halo_weave.server.http.connections import *; "
        "resource.setrlimit(resource.RLIMIT_NOFILE, (256, resource.getrlimit(resource.RLIMIT_NOFILE)[1])); "
        "allow_more_open_files(); print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert int(answer.stdout) == (4096 if hard == resource.RLIM_INFINITY else min(4096, hard))


def test_a_message_is_logged_once_a_minute_with_a_count() -> None:
    now, written = 0.0, []

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            written.append(record.getMessage())

    handler, logger = Kept(), logging.Logger("a logger")
    handler.addFilter(RepeatFilter(lambda: now))
    logger.addHandler(handler)
    for _ in range(1000):
        logger.warning("accept() %s", "failed")
    logger.warning("something else")
    now = 61.0
    for _ in range(1000):
        logger.warning("accept() %s", "failed")
    assert written == ["accept() failed", "something else", "accept() failed (999 similar messages were suppressed)"]


def test_failures_of_different_kinds_are_no_repetition() -> None:
    repeats, logger = RepeatFilter(lambda: 0.0), logging.Logger("a logger")

    def passes(error: Exception) -> bool:
        try:
            raise error
        except Exception:
            record = logger.makeRecord(logger.name, logging.ERROR, "", 0, "It failed.", (), sys.exc_info())
        return bool(repeats.filter(record))

    assert [passes(error) for error in (ValueError(), KeyError(), ValueError())] == [True, True, False]


def test_what_is_remembered_of_the_log_is_bounded() -> None:
    repeats, logger = RepeatFilter(lambda: 0.0), logging.Logger("a logger")
    for number in range(1000):
        repeats.filter(logger.makeRecord(logger.name, logging.ERROR, "", 0, f"{number}", (), None))
    assert len(repeats._said) <= 256


def test_a_flood_of_connections_neither_ends_the_server_nor_fills_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(*arguments: Any, **more: Any) -> Any:
        few = (64, 64)
        return popen(*arguments, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, few), **more)

    popen: Any = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", start)
    with running(tmp_path, *ECHO, "--port", "0") as process:
        monkeypatch.undo()
        until(lambda: process.http.get("/healthz").status_code == 200)
        process.http.close()
        with ExitStack() as opened:
            flood = [opened.enter_context(connected(process.address)) for _ in range(100)]
            assert read_to_end(flood[-1]).startswith(b"HTTP/1.1 503 ")
        with httpx2.Client(base_url=process.address, trust_env=False) as client:
            until(lambda: client.get("/api/status").status_code == 200)
        process.end()
        assert process.popen.stderr is not None
        assert len(process.popen.stderr.read()) < 10_000
