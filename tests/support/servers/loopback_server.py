"""A small real HTTP server on loopback with scripted answers."""

import json
import threading
from collections.abc import Callable, Generator, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Self

Body = dict[str, Any]


class Answer(NamedTuple):
    """`content` is sent as JSON; bytes are sent unchanged, and an iterator of bytes as a chunked stream."""

    content: Any
    status: int = 200


Handler = Callable[[Body], Answer]


class LoopbackServer:
    """Serves `handlers` by path and records each request. `url` stays the same across stop and start.

    `released` is set when the server stops, to release handlers that wait.
    """

    def __init__(self, handlers: dict[str, Handler]) -> None:
        self.handlers = handlers
        self.requests: list[tuple[str, Body]] = []
        self.headers: list[dict[str, str]] = []
        self.released = threading.Event()
        self._port = 0
        self.start()

    def start(self) -> None:
        owner = self

        class RequestHandler(_RequestHandler):
            server_owner = owner

        self.released.clear()
        self._server = _QuietServer(("127.0.0.1", self._port), RequestHandler)
        self._port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def stop(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def bodies(self, path: str) -> list[Body]:
        return [body for asked, body in self.requests if asked == path]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


class _QuietServer(ThreadingHTTPServer):
    daemon_threads = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore the error: tests disconnect clients on purpose."""


class _RequestHandler(BaseHTTPRequestHandler):
    server_owner: LoopbackServer
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer({})

    def do_POST(self) -> None:
        self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def log_message(self, *_: object) -> None:
        pass

    def _answer(self, body: Body) -> None:
        self.server_owner.requests.append((self.path, body))
        self.server_owner.headers.append(dict(self.headers))
        handler = self.server_owner.handlers.get(self.path)
        content, status = handler(body) if handler else Answer({"error": {"message": "no such path"}}, 404)
        self.send_response(status)
        self.send_header("Connection", "close")
        self.close_connection = True
        if isinstance(content, Iterator):
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            try:
                for piece in content:
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                self.wfile.write(b"0\r\n\r\n")
            finally:
                if isinstance(content, Generator):
                    content.close()
            return
        encoded = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_header("Content-Length", str(len(encoded)))
        self.end_headers()
        self.wfile.write(encoded)
