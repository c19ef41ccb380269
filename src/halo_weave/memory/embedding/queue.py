"""A queue that embeds or reads chunks in the background, so that writers do not wait for vectors or keys."""

import time
from collections.abc import Callable, Iterable
from itertools import islice
from threading import Condition

from halo_weave.errors import EmbedderError, HaloError
from halo_weave.system.background import BackgroundThread, count_failure, failure_in_words

EmbedWork = Callable[[list[int]], object]
"""Embeds or reads chunks by id."""
AT_ONCE = 64
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 1.0, 300.0
_NOW = 0.0
_MOST_ERRORS = 20


class EmbeddingQueue:
    """One thread that processes ids in order of arrival.

    Failed chunks are retried as soon as another chunk succeeds, and at growing intervals until then. The first retry
    takes one chunk, and each success doubles the batch, so that a chunk that always fails does not block the others. A
    chunk that still has no vector when the process ends is found when the memory is next opened.
    """

    def __init__(
        self,
        work: EmbedWork,
        on_error: Callable[[HaloError], None],
        *,
        name: str = "embedding",
        first_pause_s: float = _FIRST_PAUSE_S,
    ) -> None:
        self._name = name
        self._work = work
        self._on_error = on_error
        self._waiting: dict[int, None] = {}
        self._failed: dict[int, None] = {}
        self._first_pause_s = self._pause_s = first_pause_s
        self._retry_at = _NOW
        self._retry_size = 1
        self._errors: list[HaloError] = []
        self._is_busy = self._is_closed = False
        self._changed = Condition()
        self._thread: BackgroundThread | None = None

    def add(self, ids: Iterable[int]) -> None:
        with self._changed:
            if self._is_closed:
                return
            self._waiting.update(dict.fromkeys(ids))
            if self._thread is None:
                self._thread = BackgroundThread(self._name, self._run, restarts=True)
                self._thread.start()
            self._changed.notify_all()

    def settle(self) -> list[HaloError]:
        """Wait until only later retries are left; returns the errors since the last call."""
        self.wait(None)
        with self._changed:
            errors, self._errors = self._errors, []
        return errors

    def wait(self, timeout_s: float | None) -> bool:
        """Wait at most this long; True if only later retries are left."""
        with self._changed:
            return self._changed.wait_for(lambda: self._is_closed or not self._has_work(), timeout_s)

    def close(self) -> None:
        """Finish the current batch and drop the rest."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.give_up()
            self._thread.join()

    def _has_work(self) -> bool:
        return bool(self._waiting or self._is_busy or (self._failed and self._retry_at == _NOW))

    def _run(self) -> None:
        while ids := self._next():
            try:
                self._embed(ids)
            finally:
                with self._changed:
                    self._is_busy = False
                    self._changed.notify_all()

    def _embed(self, ids: list[int]) -> None:
        try:
            self._work(ids)
        except HaloError as error:
            self._retry_later(ids)
            self._keep(error)
        except Exception as error:
            self._retry_later(ids)
            count_failure(self._name, error)
            self._keep(EmbedderError(failure_in_words(self._name, error)))
        else:
            self._retry_failed()

    def _retry_later(self, ids: list[int]) -> None:
        with self._changed:
            self._failed.update(dict.fromkeys(ids))
            self._retry_size = 1
            self._retry_at = time.monotonic() + self._pause_s
            self._pause_s = min(self._pause_s * 2, _LONGEST_PAUSE_S)

    def _retry_failed(self) -> None:
        """Retry at once, because the embedder evidently works again."""
        with self._changed:
            self._pause_s = self._first_pause_s
            self._retry_size = min(self._retry_size * 2, AT_ONCE)
            self._retry_at = _NOW

    def _keep(self, error: HaloError) -> None:
        """Report each error once; an unavailable embedder fails for every chunk."""
        with self._changed:
            if str(error) in map(str, self._errors):
                return
            self._errors = [*self._errors[1 - _MOST_ERRORS :], error]
        self._on_error(error)

    def _next(self) -> list[int]:
        with self._changed:
            while not self._is_closed:
                if ids := self._due():
                    for chunk_id in ids:
                        self._waiting.pop(chunk_id, None)
                        self._failed.pop(chunk_id, None)
                    self._is_busy = True
                    return ids
                self._changed.wait(self._retry_at - time.monotonic() if self._failed else None)
            return []

    def _due(self) -> list[int]:
        if self._waiting:
            return list(islice(self._waiting, AT_ONCE))
        is_due = self._failed and time.monotonic() >= self._retry_at
        return list(islice(self._failed, self._retry_size)) if is_due else []
