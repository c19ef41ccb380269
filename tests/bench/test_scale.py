"""The figures of large memories follow from the measurements."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from halo_weave.bench.scale import made_up_memory as making
from halo_weave.bench.scale import scale
from halo_weave.bench.scale.made_up_memory import MadeUpMemory, made_up_memory
from halo_weave.bench.scale.made_up_vectors import MadeUpVectors, spread
from halo_weave.bench.scale.scale import NEAREST, exact_nearest, measure, overlap
from halo_weave.memory.embedders.embedder import Embedder, EmbedderSettings, open_embedder
from halo_weave.memory.memory import index_folder
from halo_weave.memory.sqlite.store import SqliteStore
from halo_weave.memory.vectors.approximate import IndexBuilder, VectorFileHeader, vector_checksum
from halo_weave.memory.vectors.index import VectorIndex, vector_file_name
from support.vector_memories import clustered

CHUNKS, REAL_TEXTS = 2000, 20
SETTINGS = EmbedderSettings()


@pytest.fixture(scope="module")
def embedder() -> Iterator[Embedder]:
    embedder = open_embedder(SETTINGS)
    yield embedder
    embedder.close()


@pytest.fixture(scope="module")
def parent(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("made-up")


@pytest.fixture(scope="module")
def memory(parent: Path, embedder: Embedder) -> MadeUpMemory:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(making, "_FEWEST_REAL_TEXTS", REAL_TEXTS)
        return made_up_memory(parent, CHUNKS, embedder, lambda _: None)


def test_a_memory_that_is_there_is_not_made_again(memory: MadeUpMemory, parent: Path, embedder: Embedder) -> None:
    before = memory.database.stat()
    again = made_up_memory(parent, CHUNKS, embedder, lambda _: None)
    assert again.database.stat().st_ino == before.st_ino
    assert [entry.name for entry in parent.iterdir()] == [str(CHUNKS)]


def test_what_was_interrupted_leaves_nothing_that_looks_complete(
    tmp_path: Path, embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(making, "_FEWEST_REAL_TEXTS", REAL_TEXTS)

    def interrupt(notice: str) -> None:
        if "made up" in notice:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        made_up_memory(tmp_path, 100, embedder, interrupt)
    assert not list(tmp_path.iterdir())


def test_the_memory_is_sound_and_has_what_a_real_one_has(memory: MadeUpMemory, embedder: Embedder) -> None:
    store = SqliteStore(memory.database)
    assert store.verify() == []
    stats = store.stats()
    assert (stats.chunks, stats.vectors) == (CHUNKS, {embedder.name: CHUNKS})
    chunks = [stored.chunk for stored in store.chunks_from(0, CHUNKS)]
    assert {chunk.key.role for chunk in chunks} == {"user", "assistant"}
    assert np.percentile([chunk.token_count for chunk in chunks], 10) >= 60
    assert (chunks[-1].time - chunks[0].time).days > 365
    assert stats.tokens == memory.tokens
    store.close()


def test_made_up_vectors_lie_as_the_ones_they_are_made_from() -> None:
    real = clustered(600, 32, seed=1, clusters=40)
    ours, theirs = spread(MadeUpVectors(real).take(600)), spread(real)
    assert ours.nearest == pytest.approx(theirs.nearest, abs=0.06)
    assert ours.any == pytest.approx(theirs.any, abs=0.06)
    assert ours.effective_directions == pytest.approx(theirs.effective_directions, rel=0.25)


def test_figures_are_there_and_an_exact_search_finds_all(
    memory: MadeUpMemory, embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scale, "RESERVING_PROCESSES", 2)
    monkeypatch.setattr(scale, "RESERVING_SECONDS", 0.2)
    figures = measure(memory, SETTINGS, embedder.name)
    assert figures["search_recall_at_50"] == 1
    assert figures["questions"] >= 200
    assert 0 < figures["search_with_embedding_ms_p50"] <= figures["search_with_embedding_ms_p95"]
    assert 0 < figures["search_ms_p50"] <= figures["search_ms_p95"]
    assert all(figures[name] > 0 for name in ("open_s", "import_s", "restore_ms", "reserve_per_s"))
    assert 20 < figures["rss_mb"] < 4000


def test_an_index_that_suggests_the_wrong_chunks_lowers_the_recall(memory: MadeUpMemory, embedder: Embedder) -> None:
    store = SqliteStore(memory.database)
    changes = store.vectors_since(embedder.name, 0)
    builder = IndexBuilder(embedder.dimensions, threads=1)
    builder.add(np.random.default_rng(1).permutation(changes.ids), changes.vectors)
    samples = {int(changes.ids[0]): vector_checksum(changes.vectors[0])}
    header = VectorFileHeader(embedder.name, embedder.dimensions, CHUNKS, changes.change_number, samples)
    folder = index_folder(memory.database)
    builder.write(folder / vector_file_name(embedder.name), header)
    index = VectorIndex(store, embedder.name, embedder.dimensions, folder)
    found = [index.nearest(vector, NEAREST).ids.tolist() for vector in memory.question_vectors]
    assert overlap(found, exact_nearest(store, embedder.name, memory.question_vectors, NEAREST)) < 0.5
    index.close()
    store.close()
    (folder / vector_file_name(embedder.name)).unlink()
