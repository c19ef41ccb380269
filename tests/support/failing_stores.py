"""A memory whose store fails at one of its calls."""

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Literal, cast

from halo_weave.errors import StoreUnavailable
from halo_weave.memory.embedders.choice import EmbedderChoice
from halo_weave.memory.memory import Memory, index_folder, no_notice
from halo_weave.memory.search.settings import SearchSettings
from halo_weave.memory.sqlite.store import SqliteStore
from halo_weave.memory.store.protocol import Store
from support.windows import WORDS_ALONE

Moment = Literal["before", "after"]
WORDS = "The disk has failed."


class FailingStore:
    """Counts calls from the thread that called `watch`.

    The call numbered `fails_at` fails, before or after its effect. While `is_down` is set, all calls of all threads
    fail.
    """

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self._thread: int | None = None
        self._moment: Moment = "before"
        self.calls: list[str] = []
        self.fails_at: int | None = None
        self.is_down = False

    def watch(self, fails_at: int | None = None, moment: Moment = "before") -> None:
        self.calls, self.fails_at, self._moment = [], fails_at, moment
        self._thread = threading.get_ident()

    def relent(self) -> None:
        self._thread, self.is_down = None, False

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._store, name)
        return (lambda *args, **more: self._call(name, real, *args, **more)) if callable(real) else real

    def _call(self, name: str, real: Any, *args: Any, **more: Any) -> Any:
        if self.is_down:
            raise StoreUnavailable(WORDS)
        if threading.get_ident() != self._thread:
            return real(*args, **more)
        self.calls.append(name)
        fails = len(self.calls) - 1 == self.fails_at
        if fails and self._moment == "before":
            raise StoreUnavailable(WORDS)
        outcome = real(*args, **more)
        if fails:
            raise StoreUnavailable(WORDS)
        return outcome


@contextmanager
def failing_memory(path: Path) -> Iterator[tuple[Memory, FailingStore]]:
    store = FailingStore(SqliteStore(path))
    choice = EmbedderChoice(WORDS_ALONE, path.with_name("embedders.json"), no_notice)
    with closing(Memory(cast(Store, store), choice, index_folder(path), SearchSettings())) as memory:
        yield memory, store
