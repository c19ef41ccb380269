"""Events over WebSockets: exactly those after the event that a tab names, or else a fresh state.

There is no queue per tab, only the number of the last event sent. A slow reader gets its events later and in larger
batches, and a fresh state once there are too many.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from itertools import takewhile
from typing import Any

import msgspec
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from halo_weave.errors import EngineUnavailable, HaloError
from halo_weave.server.http.lanes import Lanes
from halo_weave.server.http_errors import NotFound
from halo_weave.server.live.broadcasts import ProgramNews
from halo_weave.server.runtime.feed import Feed
from halo_weave.server.runtime.program import Program
from halo_weave.server.runtime.status_broadcast import NewsKind

BATCH_S = 0.033
MOST_BEHIND = 512
"""Number of events above which a fresh state is smaller."""
STALLED_S = 30.0
MOST_SOCKETS = 512
"""Maximum number of open sockets. A tab has two, so 200 windows with a tab each leave room for more."""
CLOSED, FAILED, TOO_MANY, UNKNOWN = 4001, 4002, 4003, 4404
"""Close codes: the window was closed, it cannot be opened, there are too many sockets, or no such window exists."""
GOING_AWAY = 1001
"""The program shuts down; a client may reconnect later and continue."""
GONE, INTERNAL_ERROR = 1006, 1011
_log = logging.getLogger(__name__)


class Sockets:
    def __init__(self, program: Program, lanes: Lanes) -> None:
        self._program = program
        self._news = ProgramNews(program, lanes.health)
        self._threads = lanes.chat
        self._open = 0

    def routes(self) -> list[WebSocketRoute]:
        return [
            WebSocketRoute("/api/windows/{window}/events", self._of_window),
            WebSocketRoute("/api/events", self._of_program),
        ]

    async def _of_window(self, socket: WebSocket) -> None:
        await self._serve(socket, self._follow_window)

    async def _of_program(self, socket: WebSocket) -> None:
        await self._serve(socket, self._follow_program)

    async def _serve(self, socket: WebSocket, follow: Callable[[WebSocket], Coroutine[Any, Any, None]]) -> None:
        await socket.accept()
        if self._open >= MOST_SOCKETS:
            with suppress(WebSocketDisconnect):
                await _close(socket, TOO_MANY, f"{MOST_SOCKETS} connections are already open; close some tabs")
            return
        self._open += 1
        try:
            await _while_connected(socket, follow(socket))
        finally:
            self._open -= 1

    async def _follow_window(self, socket: WebSocket) -> None:
        seen = _number(socket.query_params.get("since", ""))
        while True:
            try:
                feed = await self._feed(socket.path_params["window"])
            except NotFound as error:
                await self._end(socket, UNKNOWN, str(error))
                return
            except HaloError as error:
                await self._end(socket, FAILED, str(error))
                return
            await self._follow(socket, feed, seen)
            if not feed.is_replaced:
                await self._end(socket, CLOSED, "the window was closed")
                return
            seen = None

    async def _end(self, socket: WebSocket, code: int, reason: str) -> None:
        """If the whole program shuts down, report that instead of an error of the window."""
        if self._program.is_ending:
            code, reason = GOING_AWAY, "the program is shutting down"
        await _close(socket, code, reason[:120])

    async def _feed(self, window_id: str) -> Feed:
        """The feed of the window, once a model is available."""
        with self._program.broadcast.notifier.sleeper() as woken:
            while True:
                woken.clear()
                try:
                    feed: Feed = await self._in_thread(lambda: self._program.feed(self._program.window(window_id)))
                    return feed
                except EngineUnavailable as error:
                    if self._program.keeper.status.state == "ready":
                        self._program.lose_engine(error)
                await woken.wait()

    async def _follow(self, socket: WebSocket, feed: Feed, seen: int | None) -> None:
        """Send events until the window is closed. A first message always follows, so that the tab is current."""
        is_first = True
        with feed.notifier.sleeper() as woken:
            while True:
                woken.clear()
                events = None if seen is None else feed.since(seen)
                if events is None or len(events) > MOST_BEHIND:
                    state, data = await self._in_thread(lambda: _encoded_state(feed))
                    await _send(socket, data)
                    seen, events = state, []
                elif events or is_first:
                    following = list(takewhile(lambda event: event.kind != "reloaded", events))
                    if following or is_first:
                        await _send(socket, msgspec.json.encode({"events": following}))
                    # After `reloaded` everything may have changed, so the tab gets the whole state.
                    seen = None if len(following) < len(events) else events[-1].number if events else seen
                is_first = False
                if seen is None:
                    continue
                if feed.is_closed and seen == feed.last_number:
                    return
                await asyncio.sleep(BATCH_S)
                await woken.wait()

    async def _follow_program(self, socket: WebSocket) -> None:
        bulletin = self._program.broadcast
        with bulletin.notifier.sleeper() as woken:
            seen = bulletin.number
            kinds: list[NewsKind] = ["status", "windows", "jobs"]
            state = {kind: await self._news.present(kind) for kind in kinds}
            await _send(socket, msgspec.json.encode({"state": {"event": seen, **state}}))
            while True:
                await woken.wait()
                woken.clear()
                if news := bulletin.since(seen):
                    events = [
                        {"number": number, "kind": kind, "data": await self._news.since_change(kind)}
                        for number, kind in news
                    ]
                    await _send(socket, msgspec.json.encode({"events": events}))
                    seen = news[-1][0]
                await asyncio.sleep(BATCH_S)

    async def _in_thread(self, work: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)


def _encoded_state(feed: Feed) -> tuple[int, bytes]:
    state = feed.state()
    return state.event, msgspec.json.encode({"state": state})


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 18 else None


async def _send(socket: WebSocket, data: bytes) -> None:
    """A tab that reads nothing for a while counts as gone, whatever the state of its connection."""
    text = data.decode()
    with _ended_as_disconnect():
        async with asyncio.timeout(STALLED_S):
            await socket.send_text(text)


async def _close(socket: WebSocket, code: int, reason: str = "") -> None:
    with _ended_as_disconnect():
        await socket.close(code, reason)


@contextmanager
def _ended_as_disconnect() -> Iterator[None]:
    """Only for sending, where a RuntimeError means that the connection has ended; elsewhere it is a bug."""
    try:
        yield
    except (RuntimeError, TimeoutError) as error:
        raise WebSocketDisconnect(GONE) from error


async def _while_connected(socket: WebSocket, work: Coroutine[Any, Any, None]) -> None:
    """Errors are logged and close the socket; a tab that disconnects is not an error."""
    working = asyncio.create_task(work)
    listening = asyncio.create_task(_listen(socket))
    try:
        await asyncio.wait({working, listening}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        working.cancel()
        listening.cancel()
        results = await asyncio.gather(working, listening, return_exceptions=True)
    failures = [one for one in results if isinstance(one, Exception) and not isinstance(one, WebSocketDisconnect)]
    for failure in failures:
        _log.error("A WebSocket connection failed.", exc_info=failure)
    if failures:
        with suppress(WebSocketDisconnect):
            await _close(socket, INTERNAL_ERROR)


async def _listen(socket: WebSocket) -> None:
    """The page sends nothing here; this only detects the disconnect."""
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass
