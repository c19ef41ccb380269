"""Builds the approximate index file from the store while others keep writing."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from halo_weave.memory.store.protocol import Store
from halo_weave.memory.vectors.approximate import ApproximateIndex, IndexBuilder, VectorFileHeader, vector_checksum
from halo_weave.records.chunks import VectorChanges

_BATCH = 2000
_SAMPLES_OF_BATCH = 2
_MOST_ENTRIES_PER_VECTOR = 1.25


def write_index_file(
    path: Path,
    store: Store,
    embedder: str,
    dimensions: int,
    end: int,
    earlier: ApproximateIndex | None,
    is_stopped: threading.Event,
) -> None:
    """Write a file with all vectors as of change number `end`, except those that change during the build.

    Continues the `earlier` file, if there is one and not too much of it is outdated. Once `is_stopped` is set, nothing
    is written.
    """
    if earlier is not None and _is_mostly_outdated(earlier, store, embedder):
        earlier = None
    builder = IndexBuilder(dimensions, _threads(), earlier)
    samples = {} if earlier is None else dict(earlier.header.samples)
    outdated: set[int] = set() if earlier is None else set(earlier.header.outdated)
    change_number = 0 if earlier is None else earlier.header.change_number
    for changes in _changes_between(store, embedder, change_number, end):
        if is_stopped.is_set():
            return
        builder.add(changes.ids, changes.vectors)
        _take_samples(samples, changes)
        if earlier is not None:
            changed = np.concatenate((changes.ids, changes.removed))
            outdated.update(changed[earlier.has(changed)].tolist())
        change_number = changes.change_number
    builder.write(
        path, VectorFileHeader(embedder, dimensions, len(builder), change_number, samples, frozenset(outdated))
    )


def _threads() -> int:
    """Use half of the processors, because a user may be waiting for an answer."""
    return max(1, (os.cpu_count() or 1) // 2)


def _is_mostly_outdated(file: ApproximateIndex, store: Store, embedder: str) -> bool:
    return file.header.count > _MOST_ENTRIES_PER_VECTOR * store.stats().vectors.get(embedder, 0)


def _changes_between(store: Store, embedder: str, start: int, end: int) -> Iterator[VectorChanges]:
    """Yield the changes after `start` up to `end`. Concurrent changes have higher numbers, so no chunk occurs twice."""
    done, limit = start, _BATCH
    while done < end and limit:
        changes = store.vectors_since(embedder, done, limit)
        if changes.change_number == done:
            return
        if changes.change_number > end:
            limit //= 2
            continue
        yield changes
        done = changes.change_number


def _take_samples(samples: dict[int, int], changes: VectorChanges) -> None:
    for chunk_id in (*changes.ids.tolist(), *changes.removed.tolist()):
        samples.pop(chunk_id, None)
    latest = slice(-_SAMPLES_OF_BATCH, None)
    for chunk_id, vector in zip(changes.ids[latest].tolist(), changes.vectors[latest], strict=True):
        samples[chunk_id] = vector_checksum(vector)
