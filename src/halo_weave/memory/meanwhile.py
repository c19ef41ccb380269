"""Doing something in another thread while this one goes on."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Meanwhile(Generic[T]):
    """Begins at once; `result` waits, and raises what the work raised."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._done: list[T] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="meanwhile", daemon=True)
        self._thread.start()

    def wait(self) -> None:
        self._thread.join()

    def result(self) -> T:
        self.wait()
        if self._error is not None:
            raise self._error
        return self._done[0]

    def _run(self) -> None:
        try:
            self._done.append(self._work())
        except BaseException as error:
            self._error = error
