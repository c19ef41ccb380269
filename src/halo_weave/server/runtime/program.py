"""The running program: engine, memory, windows, turn queue and background jobs."""

import logging
import os
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple

from halo_weave import paths
from halo_weave.config import Settings, load_settings
from halo_weave.engine.cancellation import Cancellation
from halo_weave.engine.factory import open_engine, require_usable
from halo_weave.engine.protocol import Engine
from halo_weave.engine.settings import EngineSettings
from halo_weave.errors import EngineUnavailable, StoreUnavailable, WindowBusy
from halo_weave.memory.memory import open_memory
from halo_weave.server.http_errors import NotFound
from halo_weave.server.rendering.renderer import Rendering
from halo_weave.server.runtime.deletions import Deletions
from halo_weave.server.runtime.downloads import Downloads
from halo_weave.server.runtime.engine_keeper import EngineKeeper, OpenEngine
from halo_weave.server.runtime.feed import Feed
from halo_weave.server.runtime.figures import TurnFigures
from halo_weave.server.runtime.jobs import Jobs
from halo_weave.server.runtime.status_broadcast import StatusBroadcast
from halo_weave.server.runtime.temporary_files import TemporaryFiles
from halo_weave.server.runtime.turn_queue import TurnQueue, TurnWork
from halo_weave.session.actions.following import Following
from halo_weave.session.actions.reflection import Reflecting
from halo_weave.session.hub import Hub
from halo_weave.session.presets.presets import Presets
from halo_weave.session.turn.turn import send_pending
from halo_weave.session.window.private_windows import PrivateWindows
from halo_weave.session.window.window import Window
from halo_weave.session.window.words import ChunkSizes
from halo_weave.system.private_files import make_private_folder
from halo_weave.tools.factory import opened_toolboxes

_STOPPED_WITHIN_S = 10.0
_log = logging.getLogger(__name__)


class SavedSize(NamedTuple):
    tokens: int = 0
    messages: int = 0
    problem: str = ""


class SettingsLayers(NamedTuple):
    """The sources of the settings; see `config`."""

    overrides: Mapping[str, str]
    environ: Mapping[str, str]
    file: Path

    def load(self) -> Settings:
        return load_settings(self.overrides, self.environ, self.file)


def layers_of(overrides: Mapping[str, str]) -> SettingsLayers:
    return SettingsLayers(overrides, os.environ, paths.config_file())


class Program:
    """Thread-safe. Starts to load the model immediately; until it is loaded, everything but windows is usable."""

    def __init__(
        self,
        layers: SettingsLayers,
        open_engine: OpenEngine = open_engine,
        require_usable: Callable[[EngineSettings], None] = require_usable,
    ) -> None:
        """`require_usable` raises SettingError for settings that `open_engine` cannot work with."""
        self.layers = layers
        self.require_usable = require_usable
        self.settings = layers.load()
        self.broadcast = StatusBroadcast()
        self.figures = TurnFigures()
        self.rendering = Rendering()
        settings = self.settings
        make_private_folder(settings.memory.file.parent)
        self.memory = open_memory(
            settings.memory.file,
            settings.embedder,
            settings.search,
            settings.reader,
            notice=_log.warning,
        )
        self.temporary = TemporaryFiles(settings.memory.file.with_name(f"{settings.memory.file.name}-temporary"))
        self._sizes = ChunkSizes(settings.memory.chunk_min_tokens, settings.memory.chunk_max_tokens)
        self.deletions = Deletions(self.memory)
        self.presets = Presets(layers.file.with_name("presets.json"))
        self.downloads = Downloads(settings.memory.file.parent)
        self._opened_tools = ExitStack()
        self.tools = self._opened_tools.enter_context(opened_toolboxes(self.memory, settings.memory))
        self.notes = self.tools.notes
        self.jobs = Jobs(lambda: self.broadcast.tell("jobs", "status"))
        self.turns = TurnQueue(
            lambda: self.broadcast.tell("windows", "status"), self.lose_engine, self._work_of_pending
        )
        self.saved_sizes: dict[tuple[str, int], SavedSize] = {}
        """Sizes of closed windows by id and version, for `status`."""
        self.private_windows = PrivateWindows()
        self._hub: Hub | None = None
        self._feeds: dict[str, Feed] = {}
        self._lock = threading.RLock()
        self.is_ending = False
        self.is_saved = threading.Event()
        """Set during shutdown, once everything is saved."""
        self._reflecting = Reflecting(self.open_windows, self.send)
        self._following = Following(self.open_windows, lambda _window, _chunks: self.broadcast.tell("windows"))
        self.keeper = EngineKeeper(open_engine, self._take_engine, lambda: self.broadcast.tell("status", "windows"))
        self.keeper.load(settings.engine)

    @property
    def hub(self) -> Hub:
        """Raises EngineUnavailable while there is no model, and StoreUnavailable during shutdown."""
        if self.is_ending:
            raise StoreUnavailable("The program is shutting down; nothing was done.")
        self.keeper.require_ready()
        if self._hub is None:
            raise EngineUnavailable("The model is loading; try again when it is ready.")
        return self._hub

    @property
    def model(self) -> str:
        """The name of the model in use; empty while there is none."""
        engine = self.keeper.engine
        return "" if engine is None else engine.facts.name

    @property
    def settings_in_use(self) -> Settings:
        """The settings with the defaults of the model in use."""
        return self.settings.for_model(self.model)

    def open_windows(self) -> list[Window]:
        return [] if self._hub is None else self._hub.open_windows()

    def window(self, window_id: str) -> Window:
        """The window with this id, which is opened if necessary."""
        for window in self.open_windows():
            if window.id == window_id:
                return window
        outlines = [*self.private_windows.outlines(), *self.memory.window_store.windows()]
        if all(outline.id != window_id for outline in outlines):
            raise NotFound(f"There is no window {window_id[:40]}.")
        window = self.hub.open(window_id)
        self.broadcast.tell("windows")
        return window

    def feed(self, window: Window) -> Feed:
        with self._lock:
            feed = self._feeds.get(window.id)
            if feed is None or feed.window is not window:
                feed = self._feeds[window.id] = Feed(window, self.turns)
                feed.is_replaced = self._is_of_engine_before(window)
                window.log.listen(self.figures.take)
            return feed

    def send(self, window: Window, work: TurnWork) -> int:
        """Queue work that needs the model in a window; returns how many turns are ahead."""
        self.keeper.require_ready()
        self.feed(window)

        def work_as_set(cancellation: Cancellation) -> None:
            window.use_defaults(self.settings.for_model(window.engine.facts.name).window)
            work(cancellation)

        # Under the lock, so that closing an engine's windows covers all of their turns.
        with self._lock:
            if self._is_of_engine_before(window):
                raise WindowBusy(
                    f"The model of the window {window.name} has just been changed; send the message again."
                )
            return self.turns.submit(window, work_as_set)

    def send_pending(self, window: Window) -> None:
        """Send the message that waits first, unless the window has a turn already: then it follows by itself."""
        with suppress(WindowBusy):
            self.send(window, lambda cancellation: send_pending(window, cancellation=cancellation))

    def _work_of_pending(self, window: Window) -> TurnWork | None:
        if not window.pending.messages or self._is_of_engine_before(window):
            return None

        def work(cancellation: Cancellation) -> None:
            window.use_defaults(self.settings.window)
            send_pending(window, cancellation=cancellation)

        return work

    def close_window(self, window: Window) -> None:
        """Stop the window's reply and close it; its context is restored when it is opened again. A private window is
        gone."""
        self._still(window)
        if self._hub is not None:
            self._hub.close_window(window)
        self._forget(window.id)

    def delete_window(self, window_id: str) -> None:
        """A closed window is neither read nor needs the model, so it may be damaged."""
        for window in self.open_windows():
            if window.id == window_id:
                self._still(window)
        is_private = self.private_windows.memory(window_id) is not None
        if not is_private and not self.memory.window_store.window_version(window_id):
            raise NotFound(f"There is no window {window_id[:40]}.")
        if self._hub is None:
            self.memory.window_store.delete_window(window_id)
        else:
            self._hub.delete_by_id(window_id)
        self._forget(window_id)

    def use_settings(self, settings: Settings) -> bool:
        """Idle windows use the settings at once, busy ones from their next turn. True if this loads another model."""
        self.settings = settings
        self.memory.use_embedder(settings.embedder)
        if self._hub is not None:
            self._hub.use_settings(settings.for_model(self._hub.engine.facts.name).window)
        for window in self.open_windows():
            try:
                window.use_defaults(settings.for_model(window.engine.facts.name).window)
            except WindowBusy:
                continue  # it takes them before its next turn
        is_loading = self.keeper.load(settings.engine)
        self.broadcast.tell("status", "windows")
        return is_loading

    def close(self) -> None:
        """Stop all work, wait until it is saved, and then until the memory is idle."""
        self.is_ending = True
        self.turns.close()
        self.keeper.stop()
        self._reflecting.close()
        self._following.close()
        self.jobs.close()
        self.downloads.close()
        self.rendering.close()
        if self._hub is not None:
            self._hub.close()
        self.is_saved.set()
        self.temporary.close()
        self._opened_tools.close()
        self.keeper.close()
        self.memory.close()

    def _take_engine(self, engine: Engine) -> None:
        """Close the windows of the previous engine; they open again with the new one when somebody views them."""
        hub = Hub(
            engine,
            self.memory,
            self.settings.for_model(engine.facts.name).window,
            self._sizes,
            toolbox=self.tools.chat,
            private=self.private_windows,
        )
        with self._lock:
            old, self._hub = self._hub, hub
            for feed in self._feeds.values():
                feed.is_replaced = True
            self._feeds.clear()
        try:
            if old is not None:
                for window in old.open_windows():
                    if self.turns.place(window) is not None:
                        words = "The model was changed before this window's turn came; nothing was sent."
                        window.log.tell("error", text=words)
                    self._still(window)
                old.close()
            self.memory.embed_missing_later()
        except Exception:
            _log.exception("Failed to close the windows of the previous engine.")

    def _is_of_engine_before(self, window: Window) -> bool:
        return self._hub is not None and window.engine is not self._hub.engine

    def lose_engine(self, error: EngineUnavailable) -> None:
        """Report that the engine does not respond."""
        self.keeper.lost(error)

    def _still(self, window: Window) -> None:
        self.turns.stop(window, is_closing=True)
        self.turns.wait_until_over(window, _STOPPED_WITHIN_S)

    def _forget(self, window_id: str) -> None:
        with self._lock:
            if (feed := self._feeds.pop(window_id, None)) is not None:
                feed.notifier.wake()
        self.broadcast.tell("windows")
