"""What the page follows of one open window: its events under numbers that never come again, and its whole state.

A window counts its events from 1 each time it is opened. A tab may outlive that, so numbers are shifted by a clock: a
number of an earlier life is below all of this one, and the tab that names it gets a fresh state.
"""

import time
from base64 import b64decode
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from halo_weave.records.chunks import ChunkKey
from halo_weave.server.http_errors import Behind
from halo_weave.server.runtime.loop_notifier import LoopNotifier
from halo_weave.server.runtime.turn_queue import TurnQueue
from halo_weave.session.turn.turn_state import Figures
from halo_weave.session.window.context_usage import context_counts, context_usage
from halo_weave.session.window.events import Event, Kind
from halo_weave.session.window.window import Window
from halo_weave.session.window.window_state import WindowState, window_state

HISTORY = 64
_CHANGING: frozenset[Kind] = frozenset(
    ("deleted", "undeleted", "merged", "message", "written", "tool", "reply", "edited", "reloaded")
)
_COUNTED: frozenset[Kind] = _CHANGING - {"reloaded"} | {"resurrected", "buried", "pinned", "unpinned"}
"""After these, tabs are told how full the context is, so that every count on the page is of the same moment."""


class _Glance(NamedTuple):
    """The brightness of all living tokens at one moment; `places` are those of the chunks among them."""

    places: dict[ChunkKey, tuple[int, int]]
    brightness: NDArray[np.int16]


class Feed:
    def __init__(self, window: Window, turns: TurnQueue) -> None:
        self.window = window
        self.notifier = LoopNotifier()
        self.is_replaced = False
        """Whether the window was closed only to be opened with another model."""
        self._turns = turns
        self._shift = time.time_ns() // 1_000_000
        self._glances: deque[_Glance] = deque(maxlen=HISTORY)
        self._places: dict[ChunkKey, tuple[int, int]] = {}
        self._figures: dict[str, Any] = {}
        window.log.listen(self._take)
        self.is_closed = window.log.is_closed

    @property
    def last_number(self) -> int:
        return self.window.log.last_number + self._shift

    def since(self, number: int) -> list[Event] | None:
        """All events after `number`; None if they are not known any more, or never were."""
        events = self.window.log.since(number - self._shift) if number >= self._shift else None
        if events is None:
            return None
        return [msgspec.structs.replace(event, number=event.number + self._shift) for event in events]

    def require_seen(self, number: int) -> None:
        """Behind if the conversation has changed after this event."""
        events = self.since(number)
        if events is None:
            raise Behind("This tab has missed updates; try again when it has caught up.")
        if any(event.kind in _CHANGING for event in events):
            raise Behind("This tab is out of date: the conversation has changed. Check it and try again.")

    def state(self) -> WindowState:
        """Everything; go on with the events after `event`."""
        return window_state(
            self.window,
            first_event=self._shift,
            is_answering=self._turns.is_busy(self.window),
            queue=self._turns.place(self.window),
            stats=self._figures,
        )

    def tell_filling(self) -> None:
        """After something was changed by hand."""
        self.window.log.tell("stats", **context_usage(self.window))

    def history(self, key: ChunkKey, place: int, tokens: int) -> list[int]:
        """The latest values of a token of a chunk, the newest last."""
        values = []
        for glance in list(self._glances):
            start, end = glance.places.get(key, (0, 0))
            if end - start == tokens:
                values.append(int(glance.brightness[start + place]))
        return values

    def _take(self, event: Event) -> None:
        if event.kind == "brightness":
            brightness = np.frombuffer(b64decode(event.data["brightness"]), dtype="<i2")
            self._glances.append(_Glance(self._living_places(), brightness))
        elif event.kind == "stats" and "reply_s" in event.data:
            self._figures = {name: event.data[name] for name in Figures.__struct_fields__}
        elif event.kind == "closed":
            self.is_closed = True
        elif event.kind in _COUNTED:
            self.window.log.tell("stats", **context_counts(self.window))
        self.notifier.wake()

    def _living_places(self) -> dict[ChunkKey, tuple[int, int]]:
        """Where chunks are in a glance that was just taken; the same object as long as they are the same."""
        places = _places([(chunk.key, len(chunk.tokens)) for chunk in self.window.life.context])
        if places != self._places:
            self._places = places
        return self._places


def _places(chunks: Sequence[tuple[ChunkKey, int]]) -> dict[ChunkKey, tuple[int, int]]:
    places, start = {}, 0
    for key, tokens in chunks:
        places[key] = (start, start + tokens)
        start += tokens
    return places
