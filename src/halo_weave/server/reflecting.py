"""Reflection of windows that have been silent for a while, in the queue like everything that needs the model."""

import threading
from typing import TYPE_CHECKING

from halo_weave.errors import HaloError, WindowBusy
from halo_weave.session.reflection import is_due, reflect
from halo_weave.session.window import Window

if TYPE_CHECKING:
    from halo_weave.server.program import Program

_LOOK_EVERY_S = 5.0


class Reflecting:
    def __init__(self, program: "Program") -> None:
        self._program = program
        self._is_over = threading.Event()
        threading.Thread(target=self._work, name="reflecting", daemon=True).start()

    def close(self) -> None:
        self._is_over.set()

    def _work(self) -> None:
        while not self._is_over.wait(_LOOK_EVERY_S):
            for window in self._program.open_windows():
                if is_due(window):
                    self._ask(window)

    def _ask(self, window: Window) -> None:
        def work() -> None:
            try:
                reflect(window)
            except WindowBusy:
                return  # somebody has begun to speak
            except HaloError:
                window.messages_at_reflection = window.messages  # not again before there is more to say
                raise

        try:
            self._program.send(window, work)
        except HaloError:
            return  # the model is away, or the window has a turn already; later, then
