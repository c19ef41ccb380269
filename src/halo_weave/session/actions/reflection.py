"""Reflection: after a pause the model summarises its context, and the memory stores the summary like other text."""

import logging
from collections.abc import Callable, Iterable
from datetime import timedelta

from halo_weave.engine.cancellation import Cancellation
from halo_weave.errors import HaloError, WindowBusy
from halo_weave.session.turn.turn import ask, working
from halo_weave.session.turn.turn_state import Reply
from halo_weave.session.window.window import Window
from halo_weave.system.background import BackgroundThread

MARK = "reflection"
"""The metadata entry that marks the question and the answer of a reflection."""
AFTER_MESSAGES = 6
"""Minimum number of messages between two reflections."""
_LOOK_EVERY_S = 5.0
CarryOut = Callable[[Window, Callable[[Cancellation], object]], object]
"""Runs work in a window, now or later, and passes it a cancellation; raises HaloError if that is not possible."""
_log = logging.getLogger(__name__)


def is_due(window: Window) -> bool:
    settings = window.settings.reflection
    silence = window.clock() - window.active_at
    return (
        settings.is_on
        and not window.is_private
        and bool(settings.prompt.strip())
        and not window.doing
        and window.messages_since_reflection >= AFTER_MESSAGES
        and silence >= timedelta(minutes=settings.after_minutes)
    )


def reflect(window: Window, *, cancellation: Cancellation | None = None) -> Reply:
    """Ask for the summary now, in a message that is marked but otherwise like any other."""
    with working(window, "answering", cancellation) as cancellation:
        reply = ask(window, window.settings.reflection.prompt, {MARK: True}, cancellation)
        window.note_reflection()
        window.save()
        return reply


class Reflecting:
    """Watches all open windows in its own thread, which also runs the reflections unless `carry_out` does."""

    def __init__(self, open_windows: Callable[[], Iterable[Window]], carry_out: CarryOut | None = None) -> None:
        self._open_windows = open_windows
        self._carry_out: CarryOut = carry_out or (lambda _, work: work(self._end))
        self._end = Cancellation()
        self._thread = BackgroundThread("reflection", self._work, restarts=True)
        self._thread.start()

    def close(self) -> None:
        """Stop the thread, and cancel a summary that it is running."""
        self._end.cancel()
        self._thread.give_up()
        self._thread.join()

    def _work(self) -> None:
        while not self._end.wait(_LOOK_EVERY_S):
            for window in self._open_windows():
                if is_due(window) and not self._end.is_cancelled:
                    self._ask(window)

    def _ask(self, window: Window) -> None:
        def work(cancellation: Cancellation) -> None:
            try:
                reflect(window, cancellation=cancellation)
            except WindowBusy:
                return  # the user has sent a message in the meantime
            except HaloError as error:
                window.note_reflection()  # so that it is not tried again before there are more messages
                _log.warning("The window %s could not be summarised: %s", window.name, error)
                raise

        try:
            self._carry_out(window, work)
        except HaloError:
            return  # already logged; or the model is not available or the window has a turn waiting: try later
