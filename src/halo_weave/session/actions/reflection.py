"""Reflection: after a while of silence the model sums up its context, and the memory keeps that like all else."""

import logging
import threading
from collections.abc import Callable, Iterable
from datetime import timedelta

from halo_weave.errors import HaloError, WindowBusy
from halo_weave.session.turn.turn import Reply, exchange
from halo_weave.session.window.window import Window
from halo_weave.system.background import BackgroundThread

MARK = "reflection"
"""The entry of a chunk's metadata that marks question and answer."""
AFTER_MESSAGES = 6
"""Messages since the last reflection before the next one is due."""
_LOOK_EVERY_S, _STOP_AGAIN_S = 5.0, 0.05
CarryOut = Callable[[Window, Callable[[], object]], object]
"""Has something done in a window, now or later; a HaloError if it cannot be."""
_log = logging.getLogger(__name__)


def is_due(window: Window) -> bool:
    settings = window.settings.reflection
    silence = window.clock() - window.active_at
    return (
        settings.is_on
        and bool(settings.prompt.strip())
        and not window.doing
        and window.messages - window.messages_at_reflection >= AFTER_MESSAGES
        and silence >= timedelta(minutes=settings.after_minutes)
    )


def reflect(window: Window) -> Reply:
    """Ask for the summary now, as a message like any other that is marked."""
    with window.working("answering"):
        reply = exchange(window, window.settings.reflection.prompt, {MARK: True})
        window.messages_at_reflection = window.messages
        window.save()
        return reply


def at_once(_: Window, work: Callable[[], object]) -> object:
    return work()


class Reflecting:
    """Looks after all open windows in a thread of its own, which also does the work unless `carry_out` has it done."""

    def __init__(self, open_windows: Callable[[], Iterable[Window]], carry_out: CarryOut = at_once) -> None:
        self._open_windows = open_windows
        self._carry_out = carry_out
        self._is_over = threading.Event()
        self._thread = BackgroundThread("reflection", self._work, restarts=True)
        self._thread.start()

    def close(self) -> None:
        """Ends a summary that this thread is at."""
        self._is_over.set()
        self._thread.give_up()
        while self._thread.is_alive():
            # Again and again, because a window forgets a stop that comes just before its work begins.
            for window in self._open_windows():
                if window.doing:
                    window.stop()
            self._thread.join(_STOP_AGAIN_S)

    def _work(self) -> None:
        while not self._is_over.wait(_LOOK_EVERY_S):
            for window in self._open_windows():
                if is_due(window):
                    self._ask(window)

    def _ask(self, window: Window) -> None:
        def work() -> None:
            try:
                reflect(window)
            except WindowBusy:
                return  # somebody has begun to speak
            except HaloError as error:
                window.messages_at_reflection = window.messages  # not again before there is more to say
                _log.warning("The window %s could not be summarised: %s", window.name, error)
                raise

        try:
            self._carry_out(window, work)
        except HaloError:
            return  # told already; or the model is away, or the window has a turn waiting: later, then
