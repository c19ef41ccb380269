"""A real server on this machine with an engine without a model; answers are checked against its OpenAPI description."""

import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import jsonschema
import msgspec
from websockets.sync.client import ClientConnection, connect

from halo_weave.engine.echo import EchoEngine
from halo_weave.engine.protocol import Engine
from halo_weave.engine.settings import EngineSettings
from halo_weave.server.running import serving
from halo_weave.server.runtime.program import Program, SettingsLayers

PATIENCE_S = 60.0


class Served:
    """`call` checks every answer against /openapi.json and records which endpoints were called."""

    def __init__(self, address: str, program: Program, token: str | None) -> None:
        self.address = address
        self.program = program
        self.called: set[tuple[str, str]] = set()
        headers = {"X-Halo": "1", **({"Authorization": f"Bearer {token}"} if token else {})}
        self.http = httpx2.Client(base_url=address, headers=headers, timeout=PATIENCE_S, trust_env=False)
        self._headers = headers
        self._description: dict[str, Any] = {}

    def call(self, method: str, path: str, body: object = None, *, status: int | None = None, **more: Any) -> Any:
        content = body if body is None or isinstance(body, bytes) else msgspec.json.encode(body)
        response = self.http.request(method, path, content=content, **more)
        self._check(method, path, response)
        if status is None:
            assert response.is_success, response.text
        else:
            assert response.status_code == status, response.text
        is_json = response.headers["content-type"] == "application/json"
        return response.json() if is_json else response

    def get(self, path: str, **more: Any) -> Any:
        return self.call("GET", path, **more)

    def post(self, path: str, body: object = None, **more: Any) -> Any:
        return self.call("POST", path, body, **more)

    def new_window(self, name: str = "main") -> str:
        window: str = self.post("/api/windows", {"name": name})["id"]
        return window

    def say(self, window: str, text: str) -> dict[str, Any]:
        """Send a message, wait for the end of the reply, and return the state."""
        self.post(f"/api/windows/{window}/messages", {"text": text}, status=202)
        return self.settled(window)

    def settled(self, window: str) -> dict[str, Any]:
        opened = self.program.window(window)
        until(lambda: not self.program.turns.is_busy(opened))
        state: dict[str, Any] = self.get(f"/api/windows/{window}")
        return state

    def socket(self, path: str, headers: Mapping[str, str] | None = None, **more: Any) -> ClientConnection:
        address = self.address.replace("http", "ws") + path
        own = {name: value for name, value in self._headers.items() if name == "Authorization"}
        headers = own if headers is None else headers
        socket: ClientConnection = connect(
            address, additional_headers=headers, max_size=None, max_queue=1, proxy=None, **more
        )
        return socket

    def _check(self, method: str, path: str, response: httpx2.Response) -> None:
        description = self._description = self._description or self.http.get("/openapi.json").json()
        bare = path.partition("?")[0]
        for pattern, operations in description["paths"].items():
            if method.lower() in operations and re.fullmatch(re.sub(r"{\w+}", "[^/]+", pattern), bare):
                self.called.add((method, pattern))
                answers = operations[method.lower()]["responses"]
                answer = answers.get(str(response.status_code)) or answers["default"]
                for kind, content in answer["content"].items():
                    if kind == "application/json" and "schema" in content:
                        schema = {**content["schema"], "components": description["components"]}
                        jsonschema.validate(response.json(), schema)
                return


@contextmanager
def served(
    folder: Path,
    *,
    replies: Sequence[str] = (),
    step_seconds: float = 0.0,
    context_tokens: int = 4096,
    overrides: Mapping[str, str] | None = None,
    open_engine: Callable[[EngineSettings], Engine] | None = None,
    require_usable: Callable[[EngineSettings], None] = lambda _: None,
    host: str = "127.0.0.1",
    token: str | None = None,
    waits: bool = True,
) -> Iterator[Served]:
    def echo(_: EngineSettings) -> Engine:
        return EchoEngine(replies, step_seconds=step_seconds, context_tokens=context_tokens)

    defaults = {"memory.path": str(folder / "halo.db"), "reader.kind": "off"}
    layers = SettingsLayers({**defaults, **(overrides or {})}, {}, folder / "config.toml")
    program = Program(layers, open_engine or echo, require_usable)
    with serving(program, host=host, token=token) as address:
        one = Served(address, program, token)
        try:
            if waits:
                until(lambda: program.keeper.status.state == "ready")
            yield one
        finally:
            one.http.close()


def until(is_so: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline, "It did not come to be."
        time.sleep(0.01)


def received(socket: ClientConnection) -> Any:
    return msgspec.json.decode(socket.recv(timeout=PATIENCE_S))


class Tab:
    """Follows a window as the page does, and records every event."""

    def __init__(self, one: Served, window: str) -> None:
        self._served = one
        self._path = f"/api/windows/{window}/events"
        self.state: dict[str, Any] = {}
        self.states = 0
        self.events: list[dict[str, Any]] = []
        self.seen: int | None = None

    @contextmanager
    def connected(self) -> Iterator[ClientConnection]:
        since = "" if self.seen is None else f"?since={self.seen}"
        with self._served.socket(self._path + since) as socket:
            yield socket

    def take(self, message: dict[str, Any]) -> None:
        if "state" in message:
            self.state, self.events = message["state"], []
            self.states += 1
            self.seen = message["state"]["event"]
        else:
            self.events += message["events"]
            self.seen = message["events"][-1]["number"] if message["events"] else self.seen

    def follow_until(self, socket: ClientConnection, is_so: Callable[[], object]) -> None:
        while not is_so():
            self.take(received(socket))

    def has(self, kind: str) -> bool:
        return any(event["kind"] == kind for event in self.events)

    @property
    def is_idle(self) -> bool:
        """Whether the latest status event reports that the window is idle."""
        statuses = [event["data"]["text"] for event in self.events if event["kind"] == "status"]
        return bool(statuses) and not statuses[-1]


@contextmanager
def in_background(work: Callable[[], object]) -> Iterator[None]:
    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        thread.join()
