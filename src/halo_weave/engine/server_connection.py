"""HTTP connection to a model server: requests, streams that another thread can cut, and errors that name the server."""

import ipaddress
import socket
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any, TypeVar

import httpx2
import msgspec

from halo_weave.engine.cancellation import Cancellation
from halo_weave.errors import EngineProtocolError, EngineUnavailable, HaloError, SettingError
from halo_weave.text.server_address import without_password

_T = TypeVar("_T")
# Shorter than the idle timeout of any server, so no connection is reused just as the server closes it.
_KEEP_ALIVE_S = 3.0
LONGEST_QUOTE = 300

NOT_READABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""The exceptions that decoding a message may raise."""


class _Cutter:
    """Cuts a request from another thread, even while it waits for the server."""

    def __init__(self) -> None:
        # Reentrant: a signal handler may cut while its own thread is inside `watch`.
        self._lock = threading.RLock()
        self._socket: socket.socket | None = None
        self._has_cut = False

    def cut(self) -> None:
        with self._lock:
            self._has_cut = True
            self._shut_down()

    def watch(self, connected: socket.socket | None) -> None:
        """Make `cut` end this connection; end it now if `cut` was already called."""
        with self._lock:
            self._socket = connected
            if self._has_cut:
                self._shut_down()

    def _shut_down(self) -> None:
        # Closing a socket does not wake a thread that reads from it, but shutting it down does.
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)


class ServerConnection(ABC):
    """Thread-safe. After a server has been away, the next request works again.

    `answer_s` is the read timeout of ordinary requests, unless a request sets its own. `silence_s` is the longest gap
    between two pieces of a stream.
    """

    def __init__(self, url: str, api_key: str, *, answer_s: float, silence_s: float, connect_s: float = 5.0) -> None:
        parsed = _parsed(url)
        self._address = str(parsed).rstrip("/")
        self._answer_s = answer_s
        self._silence_s = silence_s
        self._connect_s = connect_s
        headers = {"Accept-Encoding": "identity", **({"Authorization": f"Bearer {api_key}"} if api_key else {})}
        # A proxy named in the environment cannot reach a server on this machine.
        uses_proxy = not is_loopback(parsed.host)
        certificates = httpx2.create_ssl_context(trust_env=uses_proxy)

        def client(limits: httpx2.Limits) -> httpx2.Client:
            return httpx2.Client(headers=headers, trust_env=uses_proxy, verify=certificates, limits=limits)

        self._requests = client(httpx2.Limits(keepalive_expiry=_KEEP_ALIVE_S))
        # Each stream gets a new socket, so the trace always reports it and cutting it never hits another request.
        self._streams = client(httpx2.Limits(max_keepalive_connections=0))

    @property
    def url(self) -> str:
        """The server's address without its password, for display."""
        return without_password(self._address)

    def get(self, path: str, kind: type[_T]) -> _T:
        return self._answer("GET", path, None, kind, self._answer_s)

    def post(self, path: str, message: object, kind: type[_T], *, timeout_s: float | None = None) -> _T:
        return self._answer("POST", path, msgspec.json.encode(message), kind, timeout_s or self._answer_s)

    @contextmanager
    def stream(self, path: str, message: object, cancellation: Cancellation) -> Iterator[Iterator[bytes]]:
        """Yield the response's bytes as they arrive. A cancelled stream may simply end or raise EngineUnavailable."""
        cutter = _Cutter()

        def announce(name: str, info: dict[str, Any]) -> None:
            if name.endswith((".connect_tcp.complete", ".start_tls.complete")):
                cutter.watch(info["return_value"].get_extra_info("socket"))

        request = self._request("POST", path, msgspec.json.encode(message), self._silence_s)
        request.headers["Accept"] = "text/event-stream"
        request.extensions["trace"] = announce
        with (
            cancellation.on_cancel(cutter.cut),
            self._errors_named(self._silence_s),
            closing(self._streams.send(request, stream=True)) as response,
        ):
            try:
                if not response.is_success:
                    response.read()
                    raise self._refusal(response)
                yield response.iter_bytes()
            finally:
                cutter.watch(None)

    def close(self) -> None:
        self._requests.close()
        self._streams.close()

    @abstractmethod
    def _refusal(self, response: httpx2.Response) -> HaloError:
        """Return the exception for an unsuccessful response."""

    def _answered(self, status: int, words: str) -> str:
        hint = "; check the API key" if status in (401, 403) else ""
        return f"The model server at {self.url} answered {status}: {words[:LONGEST_QUOTE].rstrip('.')}{hint}."

    def _request(self, method: str, path: str, body: bytes | None, timeout_s: float) -> httpx2.Request:
        timeout = httpx2.Timeout(timeout_s, connect=min(timeout_s, self._connect_s))
        headers = None if body is None else {"Content-Type": "application/json"}
        return self._requests.build_request(
            method, self._address + path, content=body, headers=headers, timeout=timeout
        )

    def _answer(self, method: str, path: str, body: bytes | None, kind: type[_T], timeout_s: float) -> _T:
        request = self._request(method, path, body, timeout_s)
        with self._errors_named(timeout_s):
            try:
                response = self._requests.send(request)
            except (httpx2.RemoteProtocolError, httpx2.ReadError, httpx2.WriteError):
                # A server may close an idle connection just as it is reused. Repeating a request is safe: requests that
                # change a context name the revision they change.
                response = self._requests.send(request)
        if not response.is_success:
            raise self._refusal(response)
        try:
            return msgspec.json.decode(response.content, type=kind)
        except NOT_READABLE as error:
            raise EngineProtocolError(
                f"The model server at {self.url} answered {path} with an unexpected response: {error}."
            ) from error

    @contextmanager
    def _errors_named(self, timeout_s: float) -> Iterator[None]:
        try:
            yield
        except httpx2.ConnectTimeout as error:
            what_happened = f"did not respond within {min(timeout_s, self._connect_s):g} s; check the address"
            raise self._unavailable(what_happened) from error
        except httpx2.ConnectError as error:
            raise self._unavailable(f"cannot be reached ({error}); start it or check the address") from error
        except httpx2.TimeoutException as error:
            raise self._unavailable(f"sent nothing for {timeout_s:g} s") from error
        except (httpx2.HTTPError, httpx2.StreamError) as error:
            raise self._unavailable(f"closed the connection ({error})") from error

    def _unavailable(self, what_happened: str) -> EngineUnavailable:
        return EngineUnavailable(f"The model server at {self.url} {what_happened}.")


def _parsed(url: str) -> httpx2.URL:
    with suppress(httpx2.InvalidURL):
        parsed = httpx2.URL(url.strip())
        if parsed.scheme in ("http", "https") and parsed.host:
            return parsed
    raise SettingError(
        f"{without_password(url)!r} is not a valid address for the model server; write one such as http://127.0.0.1:5001."
    )


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
