"""Simulates a process that dies: only its writes survive, so it is enough to end it just before one of them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from halo_weave.memory.sqlite.database import Database


class Ended(BaseException):
    """The simulated death of the process."""


@contextmanager
def ending_before_write(
    monkeypatch: pytest.MonkeyPatch, number: int, counts: Callable[[], bool] = lambda: True
) -> Iterator[None]:
    """Raise Ended before write `number`, counting from 0 and only the writes for which `counts` returns True."""
    real, done = Database.writing, iter(range(10_000))

    def writing(database: Database, **more: Any) -> Any:
        if counts() and next(done) == number:
            raise Ended
        return real(database, **more)

    with monkeypatch.context() as patch:
        patch.setattr(Database, "writing", writing)
        yield
