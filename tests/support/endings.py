"""A process that ends in the middle: nothing but its writes outlives it, so it ends just before one of them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from halo_weave.memory.sqlite.database import Database


class Ended(BaseException):
    """The process ends here."""


@contextmanager
def ending_before_write(
    monkeypatch: pytest.MonkeyPatch, number: int, counts: Callable[[], bool] = lambda: True
) -> Iterator[None]:
    """Raises Ended at the write of this number, counted from 0 as soon as `counts` says so."""
    real, done = Database.writing, iter(range(10_000))

    def writing(database: Database, **more: Any) -> Any:
        if counts() and next(done) == number:
            raise Ended
        return real(database, **more)

    with monkeypatch.context() as patch:
        patch.setattr(Database, "writing", writing)
        yield
