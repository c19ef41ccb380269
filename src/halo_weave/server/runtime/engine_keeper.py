"""Keeps an engine for a program that starts before its model is loaded and keeps running when the model is lost."""

import logging
import threading
from collections.abc import Callable
from typing import Literal, NamedTuple

from halo_weave.engine.protocol import Engine
from halo_weave.engine.settings import EngineSettings
from halo_weave.errors import EngineUnavailable, HaloError
from halo_weave.system.background import BackgroundThread, count_failure

EngineState = Literal["loading", "ready", "away"]
OpenEngine = Callable[[EngineSettings], Engine]
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 10.0
_THREAD = "engine-keeper"
_log = logging.getLogger(__name__)


class KeeperStatus(NamedTuple):
    """`state` and `text` describe the engine in use. `is_loading` says that another engine is being opened. `failure`
    says in one sentence why the engine requested last is not in use; it is empty if nothing failed.
    """

    state: EngineState
    text: str
    is_loading: bool = False
    failure: str = ""


class EngineKeeper:
    """Opens and closes engines. The engine in use serves until the engine requested last is open, and stays if that
    fails.

    Each engine is opened in its own thread, so that one that hangs does not delay the next. An engine on a server is
    retried until it opens; a local engine is retried only when `load` is called again.

    `on_engine` is called in that thread with each new engine. It returns once nothing uses the previous engine, which
    is then closed. If it raises, the previous engine stays.
    """

    def __init__(
        self,
        open_engine: OpenEngine,
        on_engine: Callable[[Engine], None],
        on_change: Callable[[], None],
    ) -> None:
        self._open = open_engine
        self._on_engine = on_engine
        self._on_change = on_change
        self._engine: Engine | None = None
        self._settings: EngineSettings | None = None
        """The settings of the engine in use."""
        self._wanted: EngineSettings | None = None
        self._attempt = 0
        self._is_loading = False
        self._failure = ""
        self._loss = ""
        """Why the engine in use does not respond; empty while it does."""
        self._is_exchanging = False
        self._lock = threading.Lock()
        """Protects the values above; never held during callbacks."""
        self._exchanging = threading.Lock()
        """Held by the one thread that replaces an engine with another."""
        self._is_over = threading.Event()

    @property
    def engine(self) -> Engine | None:
        return self._engine

    @property
    def settings(self) -> EngineSettings | None:
        """The settings of the engine in use. They differ from the program's if another engine is opening or failed."""
        return self._settings

    @property
    def status(self) -> KeeperStatus:
        with self._lock:
            return self._present_standing()

    def require_ready(self) -> Engine:
        with self._lock:
            standing, engine = self._present_standing(), self._engine
        if engine is not None and standing.state == "ready":
            return engine
        if standing.failure and not standing.is_loading:
            raise EngineUnavailable(standing.failure)
        if standing.state == "loading":
            raise EngineUnavailable("The model is loading; try again when it is ready.")
        raise EngineUnavailable(f"The model is not available: {standing.text.rstrip('.')}.")

    def load(self, settings: EngineSettings) -> bool:
        """Open the engine of these settings. False if it is already in use, or is being opened and has not failed."""
        with self._lock:
            if settings == self._wanted and not self._failure:
                return False
            self._wanted, self._failure = settings, ""
            is_served = settings == self._settings and not self._loss and not self._is_exchanging
            attempt = self._next_attempt(is_loading=not is_served)
        self._on_change()
        if not is_served:
            self._start(settings, attempt)
        return not is_served

    def lost(self, error: HaloError) -> None:
        """Report that the server of the engine in use no longer responds."""
        with self._lock:
            settings = self._settings
            if settings is None or self._loss or not _is_server(settings):
                return
            self._loss = str(error)
            # A newer request has priority; if it fails, the lost server is tried again.
            attempt = None if self._is_loading else self._next_attempt(is_loading=True)
        self._on_change()
        if attempt is not None:
            self._start(settings, attempt)

    def stop(self) -> None:
        """Keep the engine in use from now on; an engine that is still being opened is closed once it is open."""
        self._is_over.set()
        with self._exchanging:
            pass

    def close(self) -> None:
        """Stop, and close the engine in use, which must no longer be used."""
        self.stop()
        with self._lock:
            engine, self._engine = self._engine, None
        if engine is not None:
            _close(engine)

    def _present_standing(self) -> KeeperStatus:
        failure = f"The model could not be loaded: {self._failure.rstrip('.')}." if self._failure else ""
        if self._engine is not None and not self._loss:
            return KeeperStatus("ready", "ready", self._is_loading, failure)
        if text := self._failure or (self._loss if self._wanted == self._settings else ""):
            return KeeperStatus("away", text, self._is_loading, failure)
        return KeeperStatus("loading", "loading model", self._is_loading, failure)

    def _next_attempt(self, *, is_loading: bool) -> int:
        """Start a new attempt, which makes any attempt in progress obsolete."""
        self._attempt += 1
        self._is_loading = is_loading
        return self._attempt

    def _start(self, settings: EngineSettings, attempt: int) -> None:
        BackgroundThread(_THREAD, lambda: self._work(settings, attempt)).start()

    def _work(self, settings: EngineSettings, attempt: int) -> None:
        pause_s = _FIRST_PAUSE_S
        while self._is_wanted(attempt):
            try:
                self._take(self._open(settings), settings, attempt)
                return
            except Exception as error:
                if not isinstance(error, HaloError):
                    count_failure(_THREAD, error)
                self._fail(settings, attempt, str(error) or type(error).__name__)
            if not _is_server(settings) or self._is_over.wait(pause_s):
                return
            pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)

    def _take(self, opened: Engine, settings: EngineSettings, attempt: int) -> None:
        """Only one thread at a time runs this, so that each engine has exactly one successor."""
        with self._exchanging:
            if not self._begin_exchange(attempt):
                _close(opened)
                return
            before = self._engine
            if before is not None and settings == self._settings and before.facts == opened.facts:
                self._end_exchange(before, settings, attempt)
                _close(opened)  # the server is back, and the engine in use reconnects on its own
                return
            try:
                self._on_engine(opened)
            except BaseException:
                self._end_exchange(before, self._settings, None)
                _close(opened)
                raise
            self._end_exchange(opened, settings, attempt)
            if before is not None:
                _close(before)

    def _begin_exchange(self, attempt: int) -> bool:
        with self._lock:
            self._is_exchanging = attempt == self._attempt and not self._is_over.is_set()
            return self._is_exchanging

    def _end_exchange(self, engine: Engine | None, settings: EngineSettings | None, attempt: int | None) -> None:
        """`attempt` is None if the exchange failed."""
        with self._lock:
            self._is_exchanging = False
            self._engine, self._settings = engine, settings
            if attempt is not None:
                self._loss = ""
            if attempt == self._attempt:
                self._is_loading = False
                self._failure = self._failure if settings != self._wanted else ""
        self._on_change()

    def _fail(self, settings: EngineSettings, attempt: int, text: str) -> None:
        again: tuple[EngineSettings, int] | None = None
        with self._lock:
            if attempt != self._attempt:
                return
            if settings == self._wanted:
                self._failure = text
            self._is_loading = _is_server(settings)
            if not self._is_loading and self._loss and self._settings is not None:
                again = self._settings, self._next_attempt(is_loading=True)
        self._on_change()
        if again is not None:
            self._start(*again)

    def _is_wanted(self, attempt: int) -> bool:
        with self._lock:
            return attempt == self._attempt and not self._is_over.is_set()


def _is_server(settings: EngineSettings) -> bool:
    return settings.kind in ("kobold", "openai")


def _close(engine: Engine) -> None:
    try:
        engine.close()
    except Exception:
        _log.exception("Failed to close an engine.")
