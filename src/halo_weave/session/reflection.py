"""Reflection: after a while of silence the model sums up its context, and the memory keeps that like all else."""

import logging
import threading
from datetime import timedelta

from halo_weave.errors import HaloError, WindowBusy
from halo_weave.session.hub import Hub
from halo_weave.session.turn import Reply, send
from halo_weave.session.window import Window

MARK = "reflection"
"""The entry of a chunk's metadata that marks question and answer."""
_LOOK_EVERY_S = 5.0
_log = logging.getLogger(__name__)


def is_due(window: Window) -> bool:
    settings = window.settings.reflection
    silence = window.clock() - window.active_at
    return (
        settings.is_on
        and bool(settings.prompt.strip())
        and not window.doing
        and window.messages - window.messages_at_reflection >= settings.after_messages
        and silence >= timedelta(minutes=settings.after_minutes)
    )


def reflect(window: Window) -> Reply:
    """Ask for the summary now, as a message like any other that is marked."""
    reply = send(window, window.settings.reflection.prompt, {MARK: True})
    window.messages_at_reflection = window.messages
    window.save()
    return reply


class Reflecting:
    """Looks after all windows of a hub in a thread of its own."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._work, name="reflection", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._is_over.set()
        for window in self._hub.open_windows():
            if window.doing:
                window.stop()
        self._thread.join()

    def _work(self) -> None:
        while not self._is_over.wait(_LOOK_EVERY_S):
            for window in self._hub.open_windows():
                if is_due(window):
                    self._reflect(window)

    def _reflect(self, window: Window) -> None:
        try:
            reflect(window)
        except WindowBusy:
            return  # somebody has begun to speak
        except HaloError as error:
            window.messages_at_reflection = window.messages  # not again before there is more to say
            _log.warning("The window %s could not reflect: %s", window.name, error)
