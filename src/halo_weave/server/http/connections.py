"""Limits the number of connections, and how long the server waits for each.

Anyone who can reach the port can open a connection, long before a token is checked. A request header must therefore
arrive in time, a body must keep arriving, a response must be read, and connections beyond the limit are refused.
"""

import asyncio
import logging
import sys
from contextlib import suppress
from typing import NamedTuple

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

_MOST_CONNECTIONS, _FEWEST_CONNECTIONS = 1024, 8
_MOST_UPGRADE_HEADERS, _LONGEST_UPGRADE_LINE = 100, 8000
_TOO_MANY = b"Too many connections are open; try again later.\n"
_REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nRetry-After: 10\r\nConnection: close\r\n"
    b"Content-Length: %d\r\n\r\n%s" % (len(_TOO_MANY), _TOO_MANY)
)
_log = logging.getLogger(__name__)


class ConnectionLimits(NamedTuple):
    """At most `most` connections at once. A request header must be complete within `header_s`. A body must end or
    deliver `body_bytes` in each `body_s`. The client must read part of a pending response in each `answer_s`."""

    most: int
    header_s: float = 20.0
    body_s: float = 30.0
    body_bytes: int = 30 * 1024
    answer_s: float = 300.0


def usual_limits() -> ConnectionLimits:
    """A quarter of the files that this process may open are for connections. Another quarter is for connections that
    are accepted before they can be refused, and half is left for the memory and the model."""
    quarter = _most_open_files() // 4
    return ConnectionLimits(most=max(_FEWEST_CONNECTIONS, min(quarter, _MOST_CONNECTIONS)))


def bounded_http(limits: ConnectionLimits) -> type[H11Protocol]:
    """The connection protocol class, for uvicorn's `http` option."""
    return type("BoundedHttp", (_BoundedHttp,), {"limits": limits})


class _BoundedHttp(H11Protocol):
    limits: ConnectionLimits
    _header_timer: asyncio.TimerHandle | None = None
    _body_timer: asyncio.TimerHandle | None = None
    _answer_timer: asyncio.TimerHandle | None = None
    _body_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._look_at_answer(0)
        if len(self.connections) > self.limits.most:
            _log.warning("More than %d connections are open; a new one was refused.", self.limits.most)
            transport.write(_REFUSAL)
            transport.close()
            return
        self._time_request()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._unset_keepalive_if_required()  # uvicorn does not do this when the connection breaks
        self._end_timers()

    def data_received(self, data: bytes) -> None:
        self._body_bytes += len(data)
        super().data_received(data)
        self._time_request()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._time_request()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        self._end_timers()
        self._look_at_answer(0)  # this timer ends on its own
        super().handle_websocket_upgrade(event)

    def _should_upgrade(self) -> bool:
        """Any other upgrade request is answered as plain HTTP: the WebSocket library would leave it unanswered."""
        is_plain = self.scope["method"] == "GET" and self.scope["http_version"] == "1.1"
        names = {name for name, _ in self.headers}
        has_body = bool(names & {b"content-length", b"transfer-encoding"})
        sizes = [len(name) + len(value) for name, value in self.headers]
        sizes.append(len(self.scope["raw_path"]) + len(self.scope["query_string"]))
        is_small = len(sizes) <= _MOST_UPGRADE_HEADERS and max(sizes) <= _LONGEST_UPGRADE_LINE
        return is_plain and is_small and not has_body and super()._should_upgrade()

    def send_400_response(self, msg: str) -> None:
        # The client's data can become malformed during the response, or after it.
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.close()

    def _time_request(self) -> None:
        """Run the timers of whatever the server waits for, and no others."""
        if self.transport.is_closing() or self.transport.get_protocol() is not self:
            return
        is_waiting = self.conn.their_state is h11.IDLE and self.timeout_keep_alive_task is None
        if not is_waiting:
            _cancel(self._header_timer)
            self._header_timer = None
        elif self._header_timer is None:
            self._header_timer = self.loop.call_later(self.limits.header_s, self.transport.close)
        if self.conn.their_state is not h11.SEND_BODY:
            _cancel(self._body_timer)
            self._body_timer = None
        elif self._body_timer is None:
            self._body_bytes = 0
            self._body_timer = self.loop.call_later(self.limits.body_s, self._look_at_body)

    def _look_at_body(self) -> None:
        is_wanted = not self.cycle.response_complete
        is_ours_to_wait = self.flow.read_paused or self.cycle.waiting_for_100_continue
        if is_wanted and (is_ours_to_wait or self._body_bytes >= self.limits.body_bytes):
            self._body_timer = None
            self._time_request()
        else:
            self.transport.abort()

    def _look_at_answer(self, before: int) -> None:
        """A closing connection waits until its response is read, without this check possibly forever."""
        waiting = self.transport.get_write_buffer_size()
        if waiting and waiting == before:
            self.transport.abort()
        elif waiting or not self.transport.is_closing():
            self._answer_timer = self.loop.call_later(self.limits.answer_s, self._look_at_answer, waiting)

    def _end_timers(self) -> None:
        for timer in (self._header_timer, self._body_timer, self._answer_timer):
            _cancel(timer)


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()


if sys.platform == "win32":

    def allow_more_open_files() -> None:
        pass

    def _most_open_files() -> int:
        return 4 * _MOST_CONNECTIONS

else:
    import resource

    def allow_more_open_files() -> None:
        """Raise the process's own limit, if permitted, to what all connections need: each tab has two."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = 4 * _MOST_CONNECTIONS if hard == resource.RLIM_INFINITY else min(4 * _MOST_CONNECTIONS, hard)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            with suppress(OSError, ValueError):
                resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))

    def _most_open_files() -> int:
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        return 4 * _MOST_CONNECTIONS if soft == resource.RLIM_INFINITY else soft
