"""Server-sent events: framing them, and parsing them from bytes that may be split anywhere, even in a line end."""

import codecs
from collections.abc import Iterable, Iterator

from halo_weave.errors import EngineProtocolError

HEARTBEAT = b": still here\n\n"
"""A comment, which readers ignore; it shows both sides that the connection is alive."""

LARGEST_EVENT_BYTES = 256 * 1024 * 1024


def frame_event(data: bytes) -> bytes:
    """Frame an event in the form of the Kobold API. `data` is JSON and therefore contains no line breaks."""
    return b"event: message\ndata: " + data + b"\n\n"


class EventParser:
    """Takes bytes and returns the data of each event once its closing empty line has arrived; ignores other fields."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._is_first_line = True
        self._after_carriage_return = False
        self._data: list[bytes] = []
        self._size = 0

    @property
    def is_inside_event(self) -> bool:
        """Whether the bytes so far end inside an event."""
        return bool(self._data) or bool(self._line.strip())

    def push(self, received: bytes) -> list[bytes]:
        """Return the data of the events that are now complete."""
        if not received:
            return []
        if self._after_carriage_return:
            received = received.removeprefix(b"\n")
        self._after_carriage_return = received.endswith(b"\r")
        *complete, rest = received.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        events = []
        for ending in complete:
            line = bytes(self._line) + ending
            self._line.clear()
            if line:
                self._end_line(line)
            elif self._data:
                events.append(self._end_event())
        self._line += rest
        if self._size + len(self._line) > LARGEST_EVENT_BYTES:
            raise EngineProtocolError(f"The model server sent an event larger than {LARGEST_EVENT_BYTES} bytes.")
        return events

    def finish(self) -> list[bytes]:
        """Return the last event if its closing empty line never came and it has data."""
        return self.push(b"\n\n")

    def _end_line(self, line: bytes) -> None:
        if self._is_first_line:
            line = line.removeprefix(codecs.BOM_UTF8)
            self._is_first_line = False
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
            self._size += len(value)

    def _end_event(self) -> bytes:
        event = b"\n".join(self._data)
        self._data.clear()
        self._size = 0
        return event


def all_events(received: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the events of a whole stream, even if the server omits the last empty line."""
    parser = EventParser()
    for piece in received:
        yield from parser.push(piece)
    yield from parser.finish()
