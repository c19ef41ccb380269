"""A window's numbered events, which any number of listeners follow from now on or from where they left off."""

import threading
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Literal

import msgspec

Kind = Literal[
    "status",
    "message",
    "token",
    "written",
    "tool",
    "reply",
    "edited",
    "brightness",
    "buried",
    "resurrected",
    "pinned",
    "unpinned",
    "deleted",
    "undeleted",
    "merged",
    "changed",
    "reloaded",
    "stats",
    "queue",
    "pending",
    "notice",
    "error",
    "closed",
]

REMEMBERED = 4096
REMEMBERED_BYTES = 4 * 1024 * 1024
"""Limit per window. The brightness of a large context takes most of it, and a fresh state is soon smaller."""


class Event(msgspec.Struct, frozen=True):
    """`number` counts a window's events from 1 without gaps, for as long as the window is open."""

    number: int
    kind: Kind
    data: dict[str, Any]


Listener = Callable[[Event], None]


class EventLog:
    """Keeps the latest events, limited in number and size. Listeners wait for more. A listener that is too far behind
    must start again from the window's state.
    """

    def __init__(self, remembered: int = REMEMBERED, remembered_bytes: int = REMEMBERED_BYTES) -> None:
        self._most = remembered
        self._most_bytes = remembered_bytes
        self._events: deque[Event] = deque()
        self._sizes: deque[int] = deque()
        self._bytes = 0
        self._last = 0
        self._is_closed = False
        self._changed = threading.Condition()
        self._listeners: tuple[Listener, ...] = ()

    @property
    def last_number(self) -> int:
        with self._changed:
            return self._last

    @property
    def is_closed(self) -> bool:
        with self._changed:
            return self._is_closed

    @property
    def remembered_bytes(self) -> int:
        """Approximate memory use of the events in bytes."""
        with self._changed:
            return self._bytes

    def tell(self, kind: Kind, **data: Any) -> Event:
        size = _size(data)
        with self._changed:
            self._last += 1
            event = Event(self._last, kind, data)
            self._remember(event, size)
            self._changed.notify_all()
            listeners = self._listeners
        for listener in listeners:
            listener(event)
        return event

    def listen(self, listener: Listener) -> None:
        """Call the listener with each event from now on, in the thread that causes the event."""
        with self._changed:
            self._listeners = (*self._listeners, listener)

    def stop_listening(self, listener: Listener) -> None:
        with self._changed:
            self._listeners = tuple(one for one in self._listeners if one != listener)

    def since(self, number: int) -> list[Event] | None:
        """All events after `number`; None if some are no longer kept, or if `number` is in the future."""
        with self._changed:
            return self._since(number)

    def remembered(self) -> list[Event]:
        """All events that are still kept."""
        with self._changed:
            return list(self._events)

    def wait(self, number: int, timeout_s: float | None = None) -> list[Event] | None:
        """Like `since`, but waits for at least one event; an empty list after a timeout or when the log is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._last != number or self._is_closed, timeout_s)
            return self._since(number)

    def follow(self, number: int) -> Iterator[Event]:
        """Events after `number` as they occur, until the log is closed or the listener is too far behind."""
        while events := self.wait(number):
            yield from events
            number = events[-1].number

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def _remember(self, event: Event, size: int) -> None:
        """The newest event is always kept, whatever its size."""
        self._events.append(event)
        self._sizes.append(size)
        self._bytes += size
        while len(self._events) > 1 and (len(self._events) > self._most or self._bytes > self._most_bytes):
            self._events.popleft()
            self._bytes -= self._sizes.popleft()

    def _since(self, number: int) -> list[Event] | None:
        count = self._last - number
        if not 0 <= count <= len(self._events):
            return None
        return [self._events[place] for place in range(len(self._events) - count, len(self._events))]


def _size(value: object) -> int:
    """Approximate size in bytes of nested plain values."""
    total, waiting = 0, [value]
    while waiting:
        match waiting.pop():
            case str() as text:
                total += 50 + len(text)
            case dict() as named:
                total += 64 + 100 * len(named)
                waiting += named.values()
            case list() | tuple() as values:
                total += 64 + 8 * len(values)
                waiting += values
            case _:
                total += 28
    return total
