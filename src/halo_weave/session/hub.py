"""All windows of one program: one model, one memory, any number of conversations."""

import threading
from collections.abc import Callable
from datetime import datetime

import msgspec

from halo_weave.engine.protocol import Engine
from halo_weave.errors import InputError
from halo_weave.memory.memory import Memory
from halo_weave.memory.records import utc_now
from halo_weave.memory.window_records import WindowOutline
from halo_weave.session.opening import checked_name, new_window, reopened
from halo_weave.session.settings import WindowSettings
from halo_weave.session.window import Surroundings, Window
from halo_weave.session.words import ChunkSizes
from halo_weave.tools.registry import Toolbox


class WindowListing(msgspec.Struct, frozen=True):
    id: str
    name: str
    saved_at: datetime
    is_open: bool


class Hub:
    """May be used from several threads. The engine and the memory belong to the caller, who closes them after this."""

    def __init__(
        self,
        engine: Engine,
        memory: Memory,
        settings: WindowSettings,
        sizes: ChunkSizes,
        clock: Callable[[], datetime] = utc_now,
        toolbox: Toolbox | None = None,
    ) -> None:
        """Without a toolbox the model has no tools."""
        self._around = Surroundings(engine, memory, settings, sizes, clock, toolbox)
        self._open: dict[str, Window] = {}
        self._lock = threading.Lock()

    @property
    def engine(self) -> Engine:
        return self._around.engine

    def open(self, name: str) -> Window:
        """The window of that name, or else of that id; a new one if there is none."""
        with self._lock:
            outline = self._find(name)
            if outline is None:
                window = new_window(self._around, name)
            elif outline.id in self._open:
                return self._open[outline.id]
            else:
                record = self._around.memory.store.window(outline.id)
                if record is None:
                    raise InputError(f"The window {name} was deleted just now.")
                window = reopened(self._around, record)
            self._open[window.id] = window
            return window

    def windows(self) -> list[WindowListing]:
        """Those that were saved last come first."""
        with self._lock:
            return [
                WindowListing(one.id, one.name, one.saved_at, one.id in self._open)
                for one in self._around.memory.store.windows()
            ]

    def open_windows(self) -> list[Window]:
        with self._lock:
            return list(self._open.values())

    def use_settings(self, settings: WindowSettings) -> None:
        """For windows that are opened from now on; one that is open takes them by `Window.use_defaults`."""
        with self._lock:
            self._around = self._around._replace(settings=settings)

    def rename(self, window: Window, name: str) -> None:
        name = checked_name(name)
        with self._lock:
            found = self._find(name)
            if found is not None and found.id != window.id:
                raise InputError(f"There is a window named {name} already.")
            window.rename(name)

    def close_window(self, window: Window) -> None:
        """Its living context is saved, and lives again when it is opened."""
        window.close()
        with self._lock:
            self._open.pop(window.id, None)

    def delete_window(self, name: str) -> None:
        """Forget what lived in a window; what was said in it stays in the memory."""
        with self._lock:
            outline = self._find(name)
            if outline is None:
                raise InputError(f"There is no window {name}.")
            window = self._open.get(outline.id)
            if window is not None:
                window.close()
                del self._open[outline.id]
            self._around.memory.store.delete_window(outline.id)

    def close(self) -> None:
        """Stops what is under way, and waits until it is kept."""
        for window in self.open_windows():
            window.stop()
            window.wait_until_idle()
            self.close_window(window)

    def _find(self, name: str) -> WindowOutline | None:
        outlines = self._around.memory.store.windows()
        by_name = (one for one in outlines if one.name == name)
        return next(by_name, next((one for one in outlines if one.id == name), None))
