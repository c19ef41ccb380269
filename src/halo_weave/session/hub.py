"""All windows of one program: one model, one memory, any number of conversations."""

import threading
from collections import defaultdict
from collections.abc import Callable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any

import msgspec

from halo_weave.engine.protocol import Engine
from halo_weave.errors import InputError
from halo_weave.memory.memory import Memory
from halo_weave.records.chunks import utc_now
from halo_weave.records.windows import WindowOutline
from halo_weave.session.settings import WindowSettings
from halo_weave.session.window.private_windows import PRIVATE_ID, PrivateWindows
from halo_weave.session.window.restoring import checked_name, new_window, new_window_id, reopened
from halo_weave.session.window.titles import UNTITLED, free_name
from halo_weave.session.window.window import Window, WindowEnvironment
from halo_weave.session.window.words import ChunkSizes
from halo_weave.tools.registry import Toolbox


class WindowListing(msgspec.Struct, frozen=True):
    id: str
    name: str
    saved_at: datetime
    is_open: bool


_PRIVATE_NAME = "Private window"


class Hub:
    """Thread-safe. The engine and the memory belong to the caller, who closes them after the hub."""

    def __init__(
        self,
        engine: Engine,
        memory: Memory,
        settings: WindowSettings,
        sizes: ChunkSizes,
        clock: Callable[[], datetime] = utc_now,
        toolbox: Toolbox | None = None,
        private: PrivateWindows | None = None,
    ) -> None:
        """Without a toolbox the model has no tools."""
        self._private = PrivateWindows() if private is None else private
        self._memory = memory
        self._around = WindowEnvironment(engine, memory, settings, sizes, clock, toolbox)
        self._open: dict[str, Window] = {}
        self._lock = threading.Lock()
        self._naming = threading.Lock()
        """Held from the check that a name is free until a window has it."""
        self._opening_locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        """One lock per window, held while it is opened, closed or deleted: this is slow and affects no other."""

    @property
    def engine(self) -> Engine:
        return self._around.engine

    def open(self, name: str) -> Window:
        """The window with that name, or else with that id; a new window if there is none."""
        outline = self._find(name)
        if outline is None:
            with self._naming:
                outline = self._find(name)  # another thread may have created it in the meantime
                if outline is None:
                    return self._begin(name, new_window_id())
        with self._opening_lock(outline.id):
            window = self._known(outline.id)
            if window is not None:
                return window
            around = self._around_of(outline.id)
            record = around.memory.window_store.window(outline.id)
            if record is None:
                raise InputError(f"The window {name} has just been deleted.")
            return self._keep(reopened(around, record))

    def open_private(self) -> Window:
        """A new window that reads the memory and writes nothing to it. It is gone once it is closed."""
        window_id = PRIVATE_ID + new_window_id()
        self._private.add(window_id, self._memory, self._around.clock)
        with self._naming:
            return self._begin(self._free_name(_PRIVATE_NAME), window_id)

    def begin(self, name: str | None = None, overrides: Mapping[str, Any] | None = None) -> Window:
        """A new window with these settings of its own. Without a name, it gets one from its first message."""
        with self._naming:
            if name is not None and self._find(checked_name(name)) is not None:
                raise InputError(f"A window named {checked_name(name)} already exists.")
            chosen = self._free_name(UNTITLED) if name is None else name
            return self._begin(chosen, new_window_id(), overrides or {}, is_name_automatic=name is None)

    def _around_of(self, window_id: str) -> WindowEnvironment:
        """What the window of this id has around it."""
        private = self._private.memory(window_id)
        if private is None:
            return self._around
        toolbox = None if self._around.toolbox is None else self._around.toolbox.reading_only()
        return self._around._replace(memory=private, toolbox=toolbox, is_private=True)

    def _begin(
        self,
        name: str,
        window_id: str,
        overrides: Mapping[str, Any] = MappingProxyType({}),
        *,
        is_name_automatic: bool = False,
    ) -> Window:
        """Create a window. Others can find it as soon as it is saved, so its lock is held until the hub knows it."""
        with self._opening_lock(window_id):
            around = self._around_of(window_id)
            return self._keep(new_window(around, name, window_id, overrides, is_name_automatic=is_name_automatic))

    def windows(self) -> list[WindowListing]:
        """All windows, the most recently saved first."""
        outlines = self._outlines()
        with self._lock:
            return [WindowListing(one.id, one.name, one.saved_at, one.id in self._open) for one in outlines]

    def open_windows(self) -> list[Window]:
        with self._lock:
            return list(self._open.values())

    def use_settings(self, settings: WindowSettings) -> None:
        """Set the settings for windows opened later; `Window.use_defaults` updates a window that is already open."""
        with self._lock:
            self._around = self._around._replace(settings=settings)

    def rename(self, window: Window, name: str) -> None:
        self.change(window, name=name)

    def change(self, window: Window, *, name: str | None = None, overrides: Mapping[str, Any] | None = None) -> None:
        """Like `Window.change`, but rejects a name that another window has."""
        if name is None:
            window.change(overrides=overrides)
            return
        if window.is_private:
            raise InputError("A private window cannot be renamed: its name may be written to the log.")
        name = checked_name(name)
        with self._naming:
            found = self._find(name)
            if found is not None and found.id != window.id:
                raise InputError(f"A window named {name} already exists.")
            window.change(name=name, overrides=overrides)

    def close_window(self, window: Window) -> None:
        """Save the window's living context, which is restored when the window is opened again. A private window is
        gone."""
        with self._opening_lock(window.id):
            self._close(window)
            self._private.forget(window.id)

    def delete_window(self, name: str) -> None:
        """Delete a window's context. Everything that was said in it stays in the memory."""
        outline = self._find(name)
        if outline is None or not self.delete_by_id(outline.id):
            raise InputError(f"There is no window {name}.")

    def delete_by_id(self, window_id: str) -> bool:
        """Like `delete_window`; returns whether it existed. A closed window is not read, so it may be damaged."""
        with self._opening_lock(window_id):
            window = self._known(window_id)
            if window is not None:
                self._close(window)
            if self._private.forget(window_id):
                return True
            return self._memory.window_store.delete_window(window_id)

    def close(self) -> None:
        """Stop the replies in progress, wait until they are saved, and close all windows. Private ones can be opened
        again with another hub of this program."""
        for window in self.open_windows():
            window.stop()
            window.wait_until_idle()
            with self._opening_lock(window.id):
                self._close(window)

    def _close(self, window: Window) -> None:
        window.close()
        with self._lock:
            self._open.pop(window.id, None)

    def _known(self, window_id: str) -> Window | None:
        with self._lock:
            return self._open.get(window_id)

    def _keep(self, window: Window) -> Window:
        with self._lock:
            self._open[window.id] = window
        return window

    def _opening_lock(self, window_id: str) -> threading.Lock:
        with self._lock:
            return self._opening_locks[window_id]

    def _find(self, name: str) -> WindowOutline | None:
        outlines = self._outlines()
        by_name = (one for one in outlines if one.name == name)
        return next(by_name, next((one for one in outlines if one.id == name), None))

    def _outlines(self) -> list[WindowOutline]:
        """All windows, private ones first."""
        return [*self._private.outlines(), *self._memory.window_store.windows()]

    def _free_name(self, wanted: str) -> str:
        return free_name(wanted, {outline.name for outline in self._outlines()})
