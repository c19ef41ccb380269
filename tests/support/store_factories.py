"""The stores that the contract suite covers. Each call of a factory opens the same memory again."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from halo_weave.memory.sqlite.store import SqliteStore
from halo_weave.memory.store.protocol import Store
from support.made_up_chunks import ticking_clock

StoreFactory = Callable[[], Store]
STORES = ("sqlite",)


@contextmanager
def fresh_memory(kind: str, folder: Path) -> Iterator[StoreFactory]:
    """Yield a factory that opens a new memory any number of times; close every instance at the end."""
    assert kind in STORES
    opened: list[Store] = []
    clock = ticking_clock()

    def open_again() -> Store:
        opened.append(SqliteStore(folder / "halo.db", clock=clock))
        return opened[-1]

    try:
        yield open_again
    finally:
        for store in opened:
            store.close()
