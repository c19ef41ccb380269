"""The behaviour that the clients of all model servers share, over real HTTP on loopback."""

import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import httpx2
import pytest

from halo_weave.engine.cancellation import Cancellation
from halo_weave.engine.kobold_client.connection import Connection, Timeouts
from halo_weave.engine.openai_client.connection import OpenAIConnection
from halo_weave.engine.server_connection import ServerConnection
from halo_weave.errors import EngineProtocolError, EngineUnavailable, HaloError, SettingError
from support.servers.loopback_server import Answer, Body, LoopbackServer

WAIT_S = 60.0


class PlainConnection(ServerConnection):
    def __init__(self, url: str, *, answer_s: float = WAIT_S, silence_s: float = WAIT_S) -> None:
        super().__init__(url, "secret", answer_s=answer_s, silence_s=silence_s)

    def _refusal(self, response: httpx2.Response) -> HaloError:
        return EngineProtocolError(self._answered(response.status_code, response.text))


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with LoopbackServer({"/hello": lambda _: Answer({"hello": 1})}) as server:
        yield server


@pytest.fixture
def connection(server: LoopbackServer) -> Iterator[PlainConnection]:
    with closing(PlainConnection(server.url)) as connection:
        yield connection


def hello(connection: ServerConnection) -> dict[str, int]:
    return connection.get("/hello", dict[str, int])


def received(connection: ServerConnection, cancellation: Cancellation | None = None) -> list[bytes]:
    with connection.stream("/stream", {}, cancellation or Cancellation()) as pieces:
        return list(pieces)


@pytest.mark.parametrize("connect", [lambda url: Connection(url, Timeouts()), OpenAIConnection])
@pytest.mark.parametrize(
    "url",
    ["", "localhost:8080", "127.0.0.1:5001", "ftp://127.0.0.1", "ftp://host", "http://", "http://[::1", "http://a:b"],
)
def test_an_address_that_is_none_is_refused(connect: Callable[[str], ServerConnection], url: str) -> None:
    with pytest.raises(SettingError, match=f"^{re.escape(repr(url))} is not a valid address for the model server"):
        connect(url)


def test_an_address_may_have_spaces_around_it_and_end_with_a_slash(server: LoopbackServer) -> None:
    with closing(PlainConnection(f" {server.url}/ ")) as connection:
        assert connection.url == server.url
        assert hello(connection) == {"hello": 1}


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_proxy_of_the_environment_does_not_stand_before_this_machine(
    server: LoopbackServer, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with closing(PlainConnection(server.url.replace("127.0.0.1", host))) as connection:
        assert hello(connection) == {"hello": 1}


def test_a_proxy_of_the_environment_stands_before_other_machines(
    server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTP_PROXY", server.url)
    with closing(PlainConnection("http://elsewhere.invalid")) as connection, pytest.raises(EngineProtocolError):
        hello(connection)
    assert server.requests == [("http://elsewhere.invalid/hello", {})]


def test_key_and_message_are_sent(server: LoopbackServer, connection: PlainConnection) -> None:
    connection.post("/hello", {"word": "Grüße"}, object)
    assert server.bodies("/hello") == [{"word": "Grüße"}]
    assert server.headers[0]["Authorization"] == "Bearer secret"
    assert server.headers[0]["Content-Type"] == "application/json"


def test_a_server_that_is_away_is_named_and_used_again_when_it_is_back(
    server: LoopbackServer, connection: PlainConnection
) -> None:
    server.handlers["/stream"] = lambda _: Answer(iter([b"x"]))
    server.stop()
    for ask in (hello, received):
        with pytest.raises(EngineUnavailable, match=f"^The model server at {server.url} cannot be reached"):
            ask(connection)
    server.start()
    assert hello(connection) == {"hello": 1}
    assert received(connection) == [b"x"]


@pytest.mark.parametrize("ask", [hello, received])
def test_a_server_that_says_nothing_is_named(server: LoopbackServer, ask: Callable[[ServerConnection], object]) -> None:
    def slow(_: Body) -> Answer:
        server.released.wait(WAIT_S)
        return Answer({})

    server.handlers = {"/hello": slow, "/stream": slow}
    with (
        closing(PlainConnection(server.url, answer_s=0.2, silence_s=0.2)) as connection,
        pytest.raises(EngineUnavailable, match=rf"^The model server at {server.url} sent nothing for 0\.2 s\.$"),
    ):
        ask(connection)


def test_a_machine_that_does_not_answer_is_named(
    connection: PlainConnection, server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def send(*_: Any, **__: Any) -> httpx2.Response:
        raise httpx2.ConnectTimeout("timed out")

    monkeypatch.setattr(httpx2.Client, "send", send)
    for ask in (hello, received):
        with pytest.raises(EngineUnavailable, match=f"{server.url} did not respond within 5 s; check the address"):
            ask(connection)


@pytest.mark.parametrize("status", [302, 400, 404, 500, 503])
def test_a_status_that_is_no_success_is_refused(
    server: LoopbackServer, connection: PlainConnection, status: int
) -> None:
    server.handlers = dict.fromkeys(("/hello", "/stream"), lambda _: Answer(b"Not now.", status))
    for ask in (hello, received):
        with pytest.raises(
            EngineProtocolError, match=rf"^The model server at {server.url} answered {status}: Not now\.$"
        ):
            ask(connection)


@pytest.mark.parametrize("status", [401, 403])
def test_a_server_that_wants_a_key_is_told_so(server: LoopbackServer, connection: PlainConnection, status: int) -> None:
    server.handlers["/hello"] = lambda _: Answer(b"Forbidden", status)
    with pytest.raises(EngineProtocolError, match=f"answered {status}: Forbidden; check the API key"):
        hello(connection)


def test_a_long_refusal_is_quoted_in_part(server: LoopbackServer, connection: PlainConnection) -> None:
    server.handlers["/hello"] = lambda _: Answer(b"x" * 100_000, 500)
    with pytest.raises(EngineProtocolError) as refusal:
        hello(connection)
    assert len(str(refusal.value)) < 500


@pytest.mark.parametrize(
    "nonsense", [b"", b"hello?", b"[1]", b'{"hello": "you"}', b'{"hell\xff": 1}', b"[" * 100_000, b'{"hello": 1']
)
def test_an_answer_that_is_not_the_protocol_is_named(
    server: LoopbackServer, connection: PlainConnection, nonsense: bytes
) -> None:
    server.handlers["/hello"] = lambda _: Answer(nonsense)
    with pytest.raises(EngineProtocolError, match=f"{server.url} answered /hello with an unexpected response"):
        hello(connection)


def test_a_stream_that_breaks_off_is_named(server: LoopbackServer, connection: PlainConnection) -> None:
    def breaks() -> Iterator[bytes]:
        yield b"x"
        raise ConnectionError

    server.handlers["/stream"] = lambda _: Answer(breaks())
    with pytest.raises(EngineUnavailable, match=f"{server.url} closed the connection"):
        received(connection)


@contextmanager
def answering_once_per_connection(connections: int) -> Iterator[str]:
    """A server that promises to keep a connection alive and closes it on the second request."""

    def serve() -> None:
        for _ in range(connections):
            connected, _ = listener.accept()
            with connected:
                connected.recv(10_000)
                connected.sendall(b'HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\n{"hello":1}')
                connected.recv(10_000)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread.join()


def test_a_kept_connection_that_the_server_ended_is_made_anew() -> None:
    with answering_once_per_connection(3) as url, closing(PlainConnection(url)) as connection:
        assert [hello(connection) for _ in range(3)] == [{"hello": 1}] * 3


class Silence:
    """Sends `first`, or not even a response header without it, and then nothing more."""

    def __init__(self, server: LoopbackServer, first: bytes | None) -> None:
        self.has_begun = threading.Event()
        self._server = server
        self._first = first

    def __call__(self, _: Body) -> Answer:
        if self._first is None:
            self._wait()
            return Answer({})
        return Answer(self._pieces(self._first))

    def _pieces(self, first: bytes) -> Iterator[bytes]:
        yield first
        self._wait()

    def _wait(self) -> None:
        self.has_begun.set()
        self._server.released.wait(WAIT_S)


@pytest.mark.parametrize("first", [None, b"x"])
def test_a_stop_from_another_thread_ends_a_stream_and_nothing_else(
    server: LoopbackServer, connection: PlainConnection, first: bytes | None
) -> None:
    silence = server.handlers["/stream"] = Silence(server, first)
    cancellation = Cancellation()

    def stop() -> None:
        assert silence.has_begun.wait(WAIT_S)
        assert hello(connection) == {"hello": 1}
        cancellation.cancel()

    stopper = threading.Thread(target=stop)
    stopper.start()
    with pytest.raises(EngineUnavailable, match=server.url):
        received(connection, cancellation)
    stopper.join()
    assert not server.released.is_set()
    server.handlers["/stream"] = lambda _: Answer(iter([b"y"]))
    assert received(connection) == [b"y"]


def test_what_is_stopped_before_it_began_ends_at_once(server: LoopbackServer, connection: PlainConnection) -> None:
    server.handlers["/stream"] = Silence(server, b"x")
    cancellation = Cancellation()
    cancellation.cancel()
    with pytest.raises(EngineUnavailable, match=server.url):
        received(connection, cancellation)
    assert not server.released.is_set()


def test_a_stop_after_the_end_does_nothing(server: LoopbackServer, connection: PlainConnection) -> None:
    server.handlers["/stream"] = lambda _: Answer(iter([b"x"]))
    cancellation = Cancellation()
    assert received(connection, cancellation) == [b"x"]
    cancellation.cancel()
    assert hello(connection) == {"hello": 1}
