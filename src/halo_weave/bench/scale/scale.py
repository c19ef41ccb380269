"""Does the memory stay quick when it is the size of a lifetime?

Made-up memories are made once and cached. Each measurement runs in a process of its own. The recall of search is
measured against an exhaustive comparison with all vectors.
"""

import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from halo_weave.bench.progress import Progress
from halo_weave.bench.recall import open_cached_embedder
from halo_weave.bench.scale.made_up_memory import MadeUpMemory, made_up_memory
from halo_weave.bench.scale.tasks import READY, ReserveFigures, ReserveTask, SearchFigures, SearchTask
from halo_weave.config import Settings
from halo_weave.errors import InputError
from halo_weave.memory.embedders.embedder import EmbedderSettings
from halo_weave.memory.sqlite.store import SqliteStore
from halo_weave.memory.store.protocol import Store
from halo_weave.memory.vectors.index import EXACT_UP_TO_CHUNKS
from halo_weave.memory.vectors.nearest import Nearest, best_of
from halo_weave.memory.vectors.unit import Vectors
from halo_weave.paths import cache_folder

SIZES = (10_000, 100_000, 1_000_000)
NEAREST = 50
RESERVING_PROCESSES = 8
RESERVING_SECONDS = 2.0
_DECIMALS = 6


def run(
    settings: Settings, sizes: Sequence[int] = SIZES, on_progress: Progress = lambda _: None
) -> dict[str, dict[str, Any]]:
    cache = cache_folder()
    with closing(open_cached_embedder(settings, on_progress)) as embedder:
        memories = {size: made_up_memory(cache / "bench-scale", size, embedder, on_progress) for size in sizes}
    return {
        str(size): measure(memory, settings.embedder, embedder.name, on_progress) for size, memory in memories.items()
    }


def measure(
    memory: MadeUpMemory,
    embedder: EmbedderSettings,
    embedder_name: str,
    on_progress: Progress = lambda _: None,
    *,
    exact_up_to_chunks: int = EXACT_UP_TO_CHUNKS,
) -> dict[str, Any]:
    on_progress(f"{memory.folder.name} chunks: searching")
    task = SearchTask(
        database=str(memory.database),
        embedder=embedder,
        questions=memory.questions,
        vectors=memory.question_vectors.tolist(),
        wanted=NEAREST,
        tokens=memory.tokens,
        exact_up_to_chunks=exact_up_to_chunks,
    )
    with _Probe(task) as probe:
        searched = msgspec.json.decode(probe.answer(), type=SearchFigures)
    on_progress(f"{memory.folder.name} chunks: comparing all")
    with closing(SqliteStore(memory.database)) as store:
        exact = exact_nearest(store, embedder_name, memory.question_vectors, NEAREST)
    on_progress(f"{memory.folder.name} chunks: reserving by {RESERVING_PROCESSES} processes")
    return {
        # Embedding the question does not depend on the memory's size, so search is reported without and with it.
        **_percentiles("search_ms", searched.search_embedded_ms),
        **_percentiles("search_with_embedding_ms", searched.search_ms),
        **_percentiles("nearest_ms", searched.nearest_ms),
        f"search_recall_at_{NEAREST}": overlap(searched.nearest, exact),
        "open_s": searched.open_s,
        "import_s": searched.import_s,
        "rss_mb": searched.rss_mb,
        "restore_ms": float(np.median(searched.restore_ms)),
        "reserve_per_s": _reserve_per_s(memory.database),
        "questions": len(searched.search_ms),
    }


def exact_nearest(store: Store, embedder: str, queries: Vectors, limit: int) -> list[list[int]]:
    """Return the ids of the chunks nearest to each query, by comparing it with all vectors."""
    best = [Nearest(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32))] * len(queries)
    read_up_to = 0
    while len((changes := store.vectors_since(embedder, read_up_to)).ids) or len(changes.removed):
        read_up_to = changes.change_number
        similarities = np.round(queries @ changes.vectors.astype(np.float32, copy=False).T, _DECIMALS)
        best = [
            best_of(earlier, Nearest(changes.ids, row), limit) for earlier, row in zip(best, similarities, strict=True)
        ]
    return [found.ids.tolist() for found in best]


def overlap(found: Sequence[Sequence[int]], expected: Sequence[Sequence[int]]) -> float:
    """Return the mean share of expected ids that were found."""
    return float(np.mean([len({*some} & {*all_}) / len(all_) for some, all_ in zip(found, expected, strict=True)]))


def _reserve_per_s(database: Path) -> float:
    task = ReserveTask(str(database), RESERVING_SECONDS)
    probes = [_Probe(task) for _ in range(RESERVING_PROCESSES)]
    try:
        for probe in probes:
            probe.wait_until_ready()
        for probe in probes:
            probe.go()
        figures = [msgspec.json.decode(probe.answer(), type=ReserveFigures) for probe in probes]
    finally:
        for probe in probes:
            probe.close()
    return sum(one.count for one in figures) / max(one.seconds for one in figures)


class _Probe:
    """A process that runs one task."""

    def __init__(self, task: SearchTask | ReserveTask) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "halo_weave.bench.scale.probe"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._send(msgspec.json.encode(task))

    def __enter__(self) -> "_Probe":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def wait_until_ready(self) -> None:
        if self.answer() != READY:
            raise InputError("A process of the benchmark did not start.")

    def go(self) -> None:
        self._send(b"")

    def answer(self) -> bytes:
        assert self._process.stdout is not None
        line: bytes = self._process.stdout.readline()
        if not line:
            raise InputError("A process of the benchmark ended without figures; see its output above.")
        return line

    def close(self) -> None:
        """Kill the process; one that has answered ends by itself anyway."""
        self._process.kill()
        self._process.communicate()

    def _send(self, line: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + b"\n")
        self._process.stdin.flush()


def _percentiles(name: str, values: Sequence[float]) -> dict[str, float]:
    return {f"{name}_p{percent}": float(np.percentile(values, percent)) for percent in (50, 95)}
