"""The engine of a program that opens before its model is loaded, and stays open when the model goes away."""

import threading
from collections.abc import Callable
from typing import Literal, NamedTuple

from halo_weave.background import BackgroundThread, count_failure
from halo_weave.engine.protocol import Engine
from halo_weave.engine.settings import EngineSettings
from halo_weave.errors import EngineUnavailable, HaloError

EngineState = Literal["loading", "ready", "away"]
OpenEngine = Callable[[EngineSettings], Engine]
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 10.0
_THREAD = "engine-keeper"


class Standing(NamedTuple):
    """How it stands with the engine, for a program and in words."""

    state: EngineState
    text: str


class EngineKeeper:
    """Opens the engine in a thread of its own. One on a server is looked for again and again while it is away; one of
    this machine is not there before somebody changes something, so that `load` has to be asked for again.

    `on_engine` is called in that thread with each new engine and what it takes the place of, before it is ready.
    """

    def __init__(
        self,
        open_engine: OpenEngine,
        on_engine: Callable[[Engine, Engine | None], None],
        on_change: Callable[[], None],
    ) -> None:
        self._open = open_engine
        self._on_engine = on_engine
        self._on_change = on_change
        self._engine: Engine | None = None
        self._standing = Standing("loading", "loading model")
        self._lock = threading.Lock()
        self._attempt = 0
        self._is_looked_for = False
        self._is_over = threading.Event()

    @property
    def engine(self) -> Engine | None:
        return self._engine

    @property
    def standing(self) -> Standing:
        return self._standing

    def require_ready(self) -> Engine:
        standing, engine = self._standing, self._engine
        if self.has_given_up:
            raise EngineUnavailable(f"The model could not be loaded: {standing.text.rstrip('.')}.")
        if engine is None or standing.state != "ready":
            words = (
                "The model is being loaded" if standing.state == "loading" else f"The model is away: {standing.text}"
            )
            raise EngineUnavailable(f"{words.rstrip('.')}; wait until it is there.")
        return engine

    @property
    def has_given_up(self) -> bool:
        """Whether the engine could not be opened and is not looked for."""
        return self._standing.state == "away" and not self._is_looked_for

    def load(self, settings: EngineSettings) -> None:
        """Open the engine of these settings, in place of the one there is."""
        self._begin(settings, Standing("loading", "loading model"))

    def lost(self, settings: EngineSettings, error: HaloError) -> None:
        """Its server does not answer any more."""
        if self._standing.state == "ready" and _is_server(settings):
            self._begin(settings, Standing("away", str(error)))

    def close(self) -> None:
        """Whoever is in use of the engine closes it; one that is still being opened closes itself."""
        self._is_over.set()

    def _begin(self, settings: EngineSettings, standing: Standing) -> None:
        with self._lock:
            self._attempt += 1
            self._standing = standing
            self._is_looked_for = _is_server(settings)
            attempt = self._attempt
        self._on_change()
        BackgroundThread(_THREAD, lambda: self._work(settings, attempt)).start()

    def _work(self, settings: EngineSettings, attempt: int) -> None:
        pause_s = _FIRST_PAUSE_S
        while self._is_wanted(attempt):
            try:
                self._take(self._open(settings), attempt)
                return
            except Exception as error:
                if not isinstance(error, HaloError):
                    count_failure(_THREAD, error)
                self._set(attempt, Standing("away", str(error) or type(error).__name__))
            if not _is_server(settings) or self._is_over.wait(pause_s):
                return
            pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)

    def _take(self, opened: Engine, attempt: int) -> None:
        before = self._engine
        if not self._is_wanted(attempt):
            opened.close()
            return
        if before is not None and before.facts == opened.facts and self._standing.state == "away":
            opened.close()  # the server is back, and the engine in use reaches it again by itself
        else:
            self._on_engine(opened, before)
            self._engine = opened
        self._set(attempt, Standing("ready", "ready"))

    def _is_wanted(self, attempt: int) -> bool:
        with self._lock:
            return attempt == self._attempt and not self._is_over.is_set()

    def _set(self, attempt: int, standing: Standing) -> None:
        with self._lock:
            if attempt != self._attempt:
                return
            self._standing = standing
        self._on_change()


def _is_server(settings: EngineSettings) -> bool:
    return settings.kind in ("kobold", "openai")
