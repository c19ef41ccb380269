"""Embedding in the background: whoever writes need not wait for vectors."""

import threading
from collections.abc import Callable, Iterable

from halo_weave.errors import HaloError

Work = Callable[[list[int]], object]
"""Embeds chunks by their ids."""
AT_ONCE = 64


class EmbeddingQueue:
    """One thread that takes ids in the order in which they came, each once.

    What fails is not tried again here: such a chunk lacks its vector, by which it is found later.
    """

    def __init__(self, work: Work, on_error: Callable[[HaloError], None]) -> None:
        self._work = work
        self._on_error = on_error
        self._waiting: dict[int, None] = {}
        self._errors: list[HaloError] = []
        self._is_busy = self._is_closed = False
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def add(self, ids: Iterable[int]) -> None:
        with self._changed:
            if self._is_closed:
                return
            self._waiting.update(dict.fromkeys(ids))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="embedding", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def settle(self) -> list[HaloError]:
        """Wait until nothing is left to do; gives what went wrong since this was last asked."""
        self.wait(None)
        with self._changed:
            errors, self._errors = self._errors, []
        return errors

    def wait(self, timeout_s: float | None) -> bool:
        """Wait no longer than this; True if nothing is left to do."""
        with self._changed:
            return self._changed.wait_for(lambda: self._is_closed or not (self._waiting or self._is_busy), timeout_s)

    def close(self) -> None:
        """Finish what is under way and leave the rest."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while ids := self._next():
            try:
                self._work(ids)
            except HaloError as error:
                self._keep(error)
            finally:
                with self._changed:
                    self._is_busy = False
                    self._changed.notify_all()

    def _keep(self, error: HaloError) -> None:
        """A server that is away fails for every chunk; it is told once."""
        with self._changed:
            if str(error) in map(str, self._errors):
                return
            self._errors.append(error)
        self._on_error(error)

    def _next(self) -> list[int]:
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed or bool(self._waiting))
            if self._is_closed:
                return []
            ids = list(self._waiting)[:AT_ONCE]
            for chunk_id in ids:
                del self._waiting[chunk_id]
            self._is_busy = True
            return ids
