"""Memories for tests of export and import, and the queries that compare them."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from halo_weave.errors import HaloError, InputError
from halo_weave.memory.sqlite.store import SqliteStore
from halo_weave.memory.store.protocol import Store
from halo_weave.records.chunks import Chunk
from halo_weave.transfer import export_memory, import_file
from support.made_up_chunks import made_up_chunk, ticking_clock, written_turn

NOW = datetime(2026, 6, 1, 8, 0, tzinfo=UTC)

Row = dict[str, Any]


@contextmanager
def memory(path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(path, clock=ticking_clock())
    try:
        yield store
    finally:
        store.close()


def all_chunks(store: Store) -> list[Chunk]:
    return [stored.chunk for stored in store.chunks_from(0, 100_000)]


def state(store: Store) -> object:
    stats = store.stats()
    return all_chunks(store), stats.next_turn, stats.next_position, stats.change_number, store.audit()


def exported_lines(store: Store, path: Path) -> list[bytes]:
    export_memory(store, path, now=NOW)
    return path.read_bytes().splitlines(keepends=True)


def lived_in(store: Store) -> None:
    """Write some of everything: several turns, metadata, a gap, a merge, a deletion, an undone deletion."""
    first, second = written_turn(store, chunks=3), written_turn(store, chunks=2, count=7)
    reservation = store.reserve(500)
    store.write_chunks(
        [
            made_up_chunk(
                reservation.turn_assistant,
                role="assistant",
                first=reservation.position_start + 100,
                metadata={"tags": ["a", "ü"], "window": None, "weight": 0.25, "big": 2**60},
            )
        ]
    )
    store.merge(first[0].key, first[1].key, "test")
    store.delete([second[0].key, second[1].key], "test")
    store.undelete([second[1].key], "test")


def assert_one_sentence(error: HaloError) -> None:
    assert str(error).endswith("nothing was changed.")
    assert "\n" not in str(error)
    assert len(str(error)) < 600


def assert_refused(store: Store, path: Path, content: bytes) -> str:
    path.write_bytes(content)
    before = state(store)
    with pytest.raises(InputError) as caught:
        import_file(store, path)
    assert_one_sentence(caught.value)
    assert state(store) == before
    return str(caught.value)
