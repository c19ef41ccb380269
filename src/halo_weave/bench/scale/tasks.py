"""The tasks that the processes of `bench scale` run."""

import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import BinaryIO

import msgspec
import numpy as np

from halo_weave.bench.resident_memory import peak_resident_mb
from halo_weave.memory.embedders.embedder import EmbedderSettings, open_embedder
from halo_weave.memory.memory import index_folder
from halo_weave.memory.search.search import MemorySearch
from halo_weave.memory.sqlite.store import SqliteStore
from halo_weave.memory.vectors.index import EXACT_UP_TO_CHUNKS, VectorIndex

READY = b"ready\n"
_WARM_UP = 25
_RESTORED_RUNS, _RUN_TOKENS, _RESTORES = 20, 500, 20


class SearchTask(msgspec.Struct, frozen=True, tag=True):
    """The memory's `tokens` tokens start at position 0; `wanted` is the number of nearest chunks to search for."""

    database: str
    embedder: EmbedderSettings
    questions: list[str]
    vectors: list[list[float]]
    wanted: int
    tokens: int
    exact_up_to_chunks: int = EXACT_UP_TO_CHUNKS


class ReserveTask(msgspec.Struct, frozen=True, tag=True):
    database: str
    seconds: float


class SearchFigures(msgspec.Struct, frozen=True):
    """The time of each question in milliseconds, and the chunks nearest to each vector."""

    import_s: float
    open_s: float
    search_ms: list[float]
    search_embedded_ms: list[float]
    nearest_ms: list[float]
    nearest: list[list[int]]
    restore_ms: list[float]
    rss_mb: float


class ReserveFigures(msgspec.Struct, frozen=True):
    count: int
    seconds: float


def run_task(source: BinaryIO, target: BinaryIO, import_s: float) -> bytes:
    task = msgspec.json.decode(source.readline(), type=SearchTask | ReserveTask)
    if isinstance(task, SearchTask):
        return msgspec.json.encode(_search(task, import_s))
    return msgspec.json.encode(_reserve(task, source, target))


def _search(task: SearchTask, import_s: float) -> SearchFigures:
    vectors = np.array(task.vectors, dtype=np.float32)
    path = Path(task.database)
    started = time.perf_counter()
    with closing(SqliteStore(path)) as store, closing(open_embedder(task.embedder)) as embedder:
        index = VectorIndex(
            store,
            embedder.name,
            embedder.dimensions,
            index_folder(path),
            exact_up_to_chunks=task.exact_up_to_chunks,
        )
        search = MemorySearch(store, embedder, index)
        search.search(task.questions[0])
        open_s = time.perf_counter() - started
        for question in task.questions[:_WARM_UP]:
            search.search(question)
        questions = task.questions[_WARM_UP:]
        embedded = [(question, embedder.embed([question])[0]) for question in questions]
        figures = SearchFigures(
            import_s=import_s,
            open_s=open_s,
            search_ms=[_milliseconds(search.search, text) for text in questions],
            search_embedded_ms=[_milliseconds(search.search_embedded, *asked) for asked in embedded],
            nearest_ms=[_milliseconds(index.nearest, vector, task.wanted) for vector in vectors],
            nearest=[index.nearest(vector, task.wanted).ids.tolist() for vector in vectors],
            restore_ms=[_restore_ms(store, task.tokens, seed) for seed in range(_RESTORES)],
            rss_mb=peak_resident_mb(),
        )
        index.close()
    return figures


def _restore_ms(store: SqliteStore, tokens: int, seed: int) -> float:
    """Time loading a window that consists of runs of tokens from different times."""
    run = min(_RUN_TOKENS, tokens // (2 * _RESTORED_RUNS))
    starts = np.random.default_rng(seed).choice(tokens // run, _RESTORED_RUNS, replace=False) * run
    positions = [position for start in starts.tolist() for position in range(start, start + run)]
    return _milliseconds(store.tokens_by_positions, positions)


def _reserve(task: ReserveTask, source: BinaryIO, target: BinaryIO) -> ReserveFigures:
    """Report when ready, then wait for the signal to start."""
    with closing(SqliteStore(Path(task.database))) as store:
        store.reserve(1)
        target.write(READY)
        target.flush()
        source.readline()
        count, started = 0, time.perf_counter()
        while (seconds := time.perf_counter() - started) < task.seconds:
            store.reserve(100)
            count += 1
    return ReserveFigures(count, seconds)


def _milliseconds(do: Callable[..., object], *arguments: object) -> float:
    started = time.perf_counter()
    do(*arguments)
    return (time.perf_counter() - started) * 1000
