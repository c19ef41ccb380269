"""Follows what other programs do in the same windows, so that their turns appear by themselves."""

import logging
import threading
from collections.abc import Callable, Iterable

from halo_weave.errors import HaloError, WindowBusy
from halo_weave.session.window.external_changes import apply_external_changes
from halo_weave.session.window.window import Window
from halo_weave.system.background import BackgroundThread
from halo_weave.weave.context import LiveChunk

LOOK_EVERY_S = 1.0
SaidElsewhere = Callable[[Window, list[LiveChunk]], object]
"""Receives a window that caught up, and the chunks that were said in it meanwhile, in order."""
_log = logging.getLogger(__name__)


def catch_up(window: Window) -> list[LiveChunk] | None:
    """Reload an idle window that another program saved; None if there is nothing to do, or if it is busy."""
    version = window.memory.window_store.window_version(window.id)
    if window.doing or version in (window.version, 0):  # of a deleted window, the next action tells
        return None
    known, newest = window.life.context.keys(), window.newest
    try:
        with window.working("catching up"):
            apply_external_changes(window)
    except WindowBusy:
        return None
    since = newest.turn_user if newest is not None else 0
    with window.life.lock:
        return [chunk for chunk in window.life.context if chunk.key not in known and chunk.key.turn >= since]


class Following:
    """Looks at all open windows in its own thread, with one small query for each."""

    def __init__(
        self,
        open_windows: Callable[[], Iterable[Window]],
        on_said: SaidElsewhere = lambda _window, _chunks: None,
        look_every_s: float = LOOK_EVERY_S,
    ) -> None:
        self._open_windows = open_windows
        self._on_said = on_said
        self._look_every_s = look_every_s
        self._is_over = threading.Event()
        self._thread = BackgroundThread("following", self._work, restarts=True)
        self._thread.start()

    def close(self) -> None:
        self._is_over.set()
        self._thread.give_up()
        self._thread.join()

    def _work(self) -> None:
        while not self._is_over.wait(self._look_every_s):
            for window in self._open_windows():
                try:
                    said = catch_up(window)
                except HaloError as error:  # it is tried again, here and before the next action
                    _log.warning("The window %s could not catch up: %s", window.name, error)
                    continue
                if said is not None:
                    self._on_said(window, said)
