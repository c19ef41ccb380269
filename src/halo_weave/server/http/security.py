"""Decides who may talk to the server.

A page on another site can make a browser send requests here, and can even point its own host name to this machine.
Therefore a name in `Host` must be one of ours, an `Origin` must be our own, and requests that change something need a
header that only our own page can set (`endpoints`). Clients on other machines also need the token.
"""

import hmac
import ipaddress
import os
import secrets
import socket
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from halo_weave.engine.server_connection import is_loopback
from halo_weave.errors import SettingError
from halo_weave.server.http.endpoints import ErrorReply, encoded

COOKIE = "halo_token"
TOKEN_FILE = "server-token"
_YEAR_S = 365 * 24 * 3600
_OPEN_PATHS = ("/healthz", "/readyz")
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


def stored_token(folder: Path) -> tuple[str, bool]:
    """The token in this folder, and whether it was created just now. Only its owner can read the file."""
    file = folder / TOKEN_FILE
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            token = file.read_text(encoding="ascii", errors="replace").strip()
            if len(token) >= 32 and token.isascii():
                return token, False
            handle = os.open(file, os.O_WRONLY | os.O_TRUNC)
        token = secrets.token_urlsafe(32)
        with os.fdopen(handle, "w", encoding="ascii") as written:
            written.write(token + "\n")
        file.chmod(0o600)
        return token, True
    except OSError as error:
        raise SettingError(f"Cannot save the token in {file}: {error.strerror}.") from error


def own_names(host: str) -> frozenset[str]:
    """Host names that are accepted in `Host`, besides IP addresses, which an attacker cannot point elsewhere."""
    names = {"localhost", host}
    if not is_loopback(host):
        machine = socket.gethostname()
        names |= {machine, f"{machine}.local"}
    return frozenset(name.lower() for name in names)


class Guard:
    """Wraps the whole app. `token` is None if only this machine can connect."""

    def __init__(self, app: ASGIApp, *, names: Iterable[str], only_loopback: bool, token: str | None) -> None:
        self._app = app
        self._names = frozenset(names)
        self._only_loopback = only_loopback
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        send = _with_headers(send, host if self._is_own(host) else "")
        refusal = self._refusal(scope, headers)
        if refusal is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": "not allowed"})
        else:
            await refusal(scope, receive, send)

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._is_own(hosts[0]):
            return _no(403, "This host name is not allowed; use the address of the server, or localhost.")
        origins = headers.getlist("origin")
        if any(not _is_same(origin, hosts[0]) for origin in origins):
            return _no(403, "Requests from other sites are not allowed.")
        if headers.get("sec-fetch-site") in ("cross-site", "same-site") and _is_for_programs(scope["path"]):
            return _no(403, "Requests from other sites are not allowed.")
        return self._token_refusal(scope, headers)

    def _token_refusal(self, scope: Scope, headers: Headers) -> Response | None:
        if self._token is None or scope["path"] in _OPEN_PATHS:
            return None
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [])
        if scope["path"] == "/" and given:
            if not self._is_token(given[0]):
                return _no(401, "The token is wrong.")
            response = RedirectResponse("/", 303)
            response.set_cookie(COOKIE, self._token, max_age=_YEAR_S, httponly=True, samesite="strict", path="/")
            return response
        if any(self._is_token(given) for given in (_bearer(headers), *_cookies(headers))):
            return None
        return _no(401, "A token is required; open the link that the server printed when it was first started.")

    def _is_token(self, given: str) -> bool:
        return self._token is not None and hmac.compare_digest(given.encode(), self._token.encode())

    def _is_own(self, host: str) -> bool:
        name = _name(host)
        if name is None:
            return False
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return name in self._names
        return address.is_loopback or not self._only_loopback


def _is_for_programs(path: str) -> bool:
    return path.startswith("/api/") or path == "/mcp"


def _name(host: str) -> str | None:
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port  # raises ValueError if it is invalid
        is_plain = parts.netloc == host and "@" not in host and not parts.path
        return parts.hostname if is_plain else None
    except ValueError:
        return None


def _is_same(origin: str, host: str) -> bool:
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower() and not parts.path


def _bearer(headers: Mapping[str, str]) -> str:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _cookies(headers: Headers) -> Iterator[str]:
    """Every value under our cookie name. Other servers on this host set cookies too, some malformed or of that name."""
    for header in headers.getlist("cookie"):
        for cookie in header.split(";"):
            name, _, value = cookie.partition("=")
            if name.strip() == COOKIE:
                yield value.strip().strip('"')


def _no(status: int, sentence: str) -> Response:
    return encoded(ErrorReply(sentence), status)


def _with_headers(send: Send, host: str) -> Send:
    # Not every browser takes `'self'` to include WebSockets, so they are listed explicitly.
    sockets = f" ws://{host} wss://{host}" if host else ""
    policy = (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
        f"connect-src 'self'{sockets}; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers["Content-Security-Policy"] = policy
            for name, value in _HEADERS.items():
                headers[name] = value
        await send(message)

    return send_with_headers
