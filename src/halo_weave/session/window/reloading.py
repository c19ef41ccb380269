"""Reloads a window from the store, after another program saved it or an operation failed halfway.

The window stays the same object, so its followers and waiters continue. The event `reloaded` tells viewers that
everything may have changed.
"""

import logging
from typing import TYPE_CHECKING

from halo_weave.errors import EngineError, HaloError, InputError, SettingError, StoreConflict

if TYPE_CHECKING:
    from halo_weave.session.window.window import Window

_log = logging.getLogger(__name__)


def error_in_words(error: Exception) -> str:
    """An error message for the window; for an unexpected error the log has the details."""
    if isinstance(error, HaloError):
        return str(error)
    return f"Internal error ({type(error).__name__}); see the log for details."


def recover(window: "Window", error: BaseException) -> None:
    """Make a window usable again after a failure. A request that was merely rejected has changed nothing."""
    if window.journal is None and isinstance(error, (InputError, SettingError, EngineError)):
        return
    window.fall_behind()
    if not isinstance(error, Exception):
        return  # the process is about to end, or the user interrupted it
    # Report the error first: a viewer that gets the whole state instead of `reloaded` does not get later events.
    window.log.tell("error", text=error_in_words(error))
    try:
        reload(window)
    except Exception as again:
        _log.warning(
            "The window %s could not be reloaded; it will be reloaded before its next use: %s",
            window.name,
            error_in_words(again),
        )
        window.log.tell("reloaded")


def bring_up_to_date(window: "Window") -> None:
    """Called before every operation, so that none runs in vain or on outdated state."""
    if window.is_behind or window.memory.window_store.window_version(window.id) != window.version:
        reload(window)


def window_deleted(name: str) -> StoreConflict:
    return StoreConflict(f"The window {name} was deleted, here or by another program; open a new one to continue.")


def reload(window: "Window") -> None:
    record = window.memory.window_store.window(window.id)
    if record is None:
        raise window_deleted(window.name)
    if window.journal is not None:
        window.journal.note_all()
    window.restore(window, record)
    window.note_reloaded()
    window.log.tell("reloaded")
