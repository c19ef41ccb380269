"""A window read again from its file: another program saved it, or something failed half-way.

The window stays the same object, so whoever follows it or waits for it goes on; who shows it is told by `reloaded`
that all of it may be different.
"""

import logging
from typing import TYPE_CHECKING

from halo_weave.errors import EngineError, HaloError, InputError, SettingError, StoreConflict

if TYPE_CHECKING:
    from halo_weave.session.window.window import Window

_log = logging.getLogger(__name__)


def error_in_words(error: Exception) -> str:
    """What a window says of a failure; the log says more of one that nobody foresaw."""
    if isinstance(error, HaloError):
        return str(error)
    return f"Something went wrong inside ({type(error).__name__}); the log says more."


def recover(window: "Window", error: BaseException) -> None:
    """Make a window usable again in which something failed. What was only refused has changed nothing."""
    if window.journal is None and isinstance(error, (InputError, SettingError, EngineError)):
        return
    window.fall_behind()
    if not isinstance(error, Exception):
        return  # the process is about to end, or the user wants it to
    # First, because who is sent the whole state instead of `reloaded` is not sent the events after it.
    window.log.tell("error", text=error_in_words(error))
    try:
        reload(window)
    except Exception as again:
        _log.warning("The window %s is read again before it goes on: %s", window.name, error_in_words(again))
        window.log.tell("reloaded")


def bring_up_to_date(window: "Window") -> None:
    """Called before anything is done to a window, so that nothing is done in vain or to what is no longer there."""
    if window.memory.store.window_version(window.id) != window.version:
        reload(window, notice="Another program has changed this window; it is shown as it is now.")
    elif window.is_behind:
        reload(window)


def reload(window: "Window", notice: str = "") -> None:
    record = window.memory.store.window(window.id)
    if record is None:
        raise StoreConflict(
            f"The window {window.name} was deleted, here or by another program; begin a new one to go on."
        )
    if notice:
        window.log.tell("notice", text=notice)
    if window.journal is not None:
        window.journal.note_all()
    window.restore(window, record)
    window.note_reloaded()
    window.log.tell("reloaded")
