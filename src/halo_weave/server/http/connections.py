"""Connections that cannot be held open for nothing: how many there may be, and how long the server waits for each.

Whoever can reach the port can open a connection, long before anybody asks for a token. So a request's header has to
come in time, a body has to keep coming, an answer has to be taken, and beyond a number of connections each new one is
refused.
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
    """`most` connections at once. A request's header has to be complete after `header_s`; a body has to bring
    `body_bytes` in each `body_s`, or its end; and of an answer something has to be taken in each `answer_s`."""

    most: int
    header_s: float = 20.0
    body_s: float = 30.0
    body_bytes: int = 30 * 1024
    answer_s: float = 300.0


def usual_limits() -> ConnectionLimits:
    """A quarter of the files that this process may open are connections. Another quarter may be accepted before they
    can be refused, and half are left for the memory and the model."""
    quarter = _most_open_files() // 4
    return ConnectionLimits(most=max(_FEWEST_CONNECTIONS, min(quarter, _MOST_CONNECTIONS)))


def bounded_http(limits: ConnectionLimits) -> type[H11Protocol]:
    """The protocol of a server's connections, for `http` of uvicorn's configuration."""
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
        self._unset_keepalive_if_required()  # uvicorn leaves it when the connection broke
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
        self._look_at_answer(0)  # which ends by itself
        super().handle_websocket_upgrade(event)

    def _should_upgrade(self) -> bool:
        """Others are answered as if they had not asked for it: the WebSocket library would leave them unanswered."""
        is_plain = self.scope["method"] == "GET" and self.scope["http_version"] == "1.1"
        names = {name for name, _ in self.headers}
        has_body = bool(names & {b"content-length", b"transfer-encoding"})
        sizes = [len(name) + len(value) for name, value in self.headers]
        sizes.append(len(self.scope["raw_path"]) + len(self.scope["query_string"]))
        is_small = len(sizes) <= _MOST_UPGRADE_HEADERS and max(sizes) <= _LONGEST_UPGRADE_LINE
        return is_plain and is_small and not has_body and super()._should_upgrade()

    def send_400_response(self, msg: str) -> None:
        # What a client sends can become malformed while it is being answered, or when it was.
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.close()

    def _time_request(self) -> None:
        """See that the timers of what is being waited for are running, and those alone."""
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
        """A connection that is closed waits until its answer was taken, and would do so for ever."""
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
        """As many as all connections need, where the system lets a process raise its own limit: a tab has two."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = 4 * _MOST_CONNECTIONS if hard == resource.RLIM_INFINITY else min(4 * _MOST_CONNECTIONS, hard)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            with suppress(OSError, ValueError):
                resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))

    def _most_open_files() -> int:
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        return 4 * _MOST_CONNECTIONS if soft == resource.RLIM_INFINITY else soft
