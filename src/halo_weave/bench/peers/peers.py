"""`halo-weave bench peers`: our search and other packages, over the same chunks and vectors, in one run.

The data show how well each finds (as `bench recall` defines it), how quickly, and in how much memory. The made-up
memories of `bench scale` show speed and memory at larger sizes; no question about them has a right answer.
"""

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from halo_weave.bench.conversations import read_conversations
from halo_weave.bench.intervals import interval, paired_difference
from halo_weave.bench.peers.ours import VARIANTS
from halo_weave.bench.peers.peer import Corpus, Peer
from halo_weave.bench.peers.probe import Measured
from halo_weave.bench.peers.processes import Questions, measure, measure_word_index
from halo_weave.bench.peers.registry import PEERS, is_installed
from halo_weave.bench.peers.word_indexes import WORD_INDEXES
from halo_weave.bench.progress import Progress
from halo_weave.bench.recall import (
    CachedEmbedder,
    ConversationStream,
    evidence_of,
    fill_memory,
    open_cached_embedder,
    score,
)
from halo_weave.bench.scale.made_up_memory import made_up_memory
from halo_weave.config import Settings
from halo_weave.errors import InputError
from halo_weave.memory.search.search import Hit
from halo_weave.memory.sqlite.store import SqliteStore
from halo_weave.paths import cache_folder
from halo_weave.records.chunks import Chunk
from halo_weave.session.turn.recalling import FOUND_AT_MOST

SIZES = (10_000, 100_000)
QUALITY = ("recall_at_10", "evidence_at_1024")
_READ_AT_ONCE = 5000
_INSTALL = "pip install 'halo-weave[peers]'"

Scores = dict[str, list[float]]
"""The figures of `QUALITY`, each with a value per question."""


class _DataSet(NamedTuple):
    """A memory with all conversations, the questions with evidence, and the turns that hold it."""

    questions: Questions
    evidence: list[set[int]]
    stream: ConversationStream
    chunks: dict[int, Chunk]


def run(
    settings: Settings,
    data: Path,
    on_progress: Progress = lambda _: None,
    *,
    sizes: Sequence[int] = SIZES,
    names: Sequence[str] = (),
) -> dict[str, Any]:
    """Compare the peers of these names, or all that are installed if none is named."""
    peers = chosen(names)
    missing = [] if names else [peer for peer in PEERS.values() if not is_installed(peer)]
    if missing:
        left_out = ", ".join(peer.name for peer in missing)
        on_progress(f"Not installed and left out: {left_out}; `{_INSTALL}` installs them.")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="halo-bench-")))
        embedder = stack.enter_context(closing(open_cached_embedder(settings, on_progress)))
        data_set = _remembered(folder / "halo.db", data, settings, embedder, on_progress)
        measured = _all_measured(peers, data_set.questions, on_progress)
        scores = {name: _scores(one.found, data_set) for name, one in measured.items()}
        return {
            "questions": len(data_set.evidence),
            "chunks": len(data_set.chunks),
            "not_installed": ", ".join(peer.name for peer in missing),
            "peers": {name: _quality(scores[name]) | _speed(one) for name, one in measured.items()},
            "ahead_of": _ahead_of(scores),
            **_at_sizes(peers, sizes, settings, embedder, on_progress),
        }


def chosen(names: Sequence[str]) -> list[Peer]:
    """Return the peers of these names, or all that are installed; a named one must be."""
    if not names:
        return [peer for peer in PEERS.values() if is_installed(peer)]
    if unknown := [name for name in names if name not in PEERS]:
        raise InputError(f"There is no peer {unknown[0]!r}; choose from {', '.join(PEERS)}.")
    if missing := [name for name in names if not is_installed(PEERS[name])]:
        raise InputError(f"{missing[0]} is not installed; `{_INSTALL}` installs it.")
    return [PEERS[name] for name in dict.fromkeys(names)]


def _remembered(
    database: Path, data: Path, settings: Settings, embedder: CachedEmbedder, on_progress: Progress
) -> _DataSet:
    conversations = read_conversations(data)
    with closing(SqliteStore(database)) as store:
        stream = fill_memory(store, embedder, conversations, on_progress)
        chunks = _chunks_by_id(store)
    asked = [(one, set(evidence_of(one, stream).values())) for one in conversations.questions]
    asked = [(one, evidence) for one, evidence in asked if evidence]
    if not asked:
        raise InputError(f"No question in {data} has evidence.")
    texts = [one.text for one, _ in asked]
    on_progress(f"embedding {len(texts)} questions")
    questions = Questions(_corpus(database, settings, embedder), texts, embedder.embed(texts))
    return _DataSet(questions, [evidence for _, evidence in asked], stream, chunks)


def _made_up(size: int, settings: Settings, embedder: CachedEmbedder, on_progress: Progress) -> Questions:
    memory = made_up_memory(cache_folder() / "bench-scale", size, embedder, on_progress)
    return Questions(_corpus(memory.database, settings, embedder), memory.questions, memory.question_vectors)


def _corpus(database: Path, settings: Settings, embedder: CachedEmbedder) -> Corpus:
    return Corpus(str(database), embedder.name, embedder.dimensions, settings.search)


def _chunks_by_id(store: SqliteStore) -> dict[int, Chunk]:
    chunks: dict[int, Chunk] = {}
    position = 0
    while stored := store.chunks_from(position, _READ_AT_ONCE):
        chunks |= {one.id: one.chunk for one in stored}
        position = stored[-1].chunk.end_position
    return chunks


def _all_measured(peers: Sequence[Peer], questions: Questions, on_progress: Progress) -> dict[str, Measured]:
    measured = {}
    for peer in peers:
        on_progress(f"{peer.name}: indexing, then {len(questions.texts)} questions")
        with tempfile.TemporaryDirectory(prefix="halo-bench-") as folder:
            measured[peer.name] = measure(peer.name, questions, Path(folder), FOUND_AT_MOST)
    return measured


def _at_sizes(
    peers: Sequence[Peer], sizes: Sequence[int], settings: Settings, embedder: CachedEmbedder, on_progress: Progress
) -> dict[str, Any]:
    speed, words = {}, {}
    for size in sizes:
        questions = _made_up(size, settings, embedder, on_progress)
        speed[str(size)] = {name: _speed(one) for name, one in _all_measured(peers, questions, on_progress).items()}
        words[str(size)] = {
            peer.name: _word_figures(peer.name, questions, size, on_progress)
            for peer in peers
            if peer.name in WORD_INDEXES
        }
    return {"speed": speed, "words": words}


def _word_figures(name: str, questions: Questions, size: int, on_progress: Progress) -> dict[str, float]:
    on_progress(f"{name}: word index of {size} chunks")
    with tempfile.TemporaryDirectory(prefix="halo-bench-") as folder:
        times = measure_word_index(name, questions, Path(folder), size)
    return {
        f"{kind}_p{percent}": float(np.percentile(values, percent))
        for kind, values in msgspec.structs.asdict(times).items()
        for percent in (50, 95)
    }


def _scores(found: Sequence[Sequence[int]], data_set: _DataSet) -> Scores:
    scores: Scores = {name: [] for name in QUALITY}
    for ids, evidence in zip(found, data_set.evidence, strict=True):
        of_question = score(
            [_hit(rank, data_set.chunks[one]) for rank, one in enumerate(ids)], evidence, data_set.stream
        )
        for name in QUALITY:
            scores[name].append(of_question[name])
    return scores


def _hit(rank: int, chunk: Chunk) -> Hit:
    """Return a hit with a score of its own for each rank: hits with equal scores would be put in order again."""
    return Hit(0, chunk, -float(rank), None, None, None, None)


def _quality(scores: Scores) -> dict[str, Any]:
    return {
        **{name: float(np.mean(values)) for name, values in scores.items()},
        "intervals": {name: interval(values) for name, values in scores.items()},
    }


def _speed(measured: Measured) -> dict[str, float]:
    return {
        "search_ms_p50": float(np.percentile(measured.search_ms, 50)),
        "search_ms_p95": float(np.percentile(measured.search_ms, 95)),
        "rss_mb": measured.rss_mb,
    }


def _ahead_of(scores: Mapping[str, Scores]) -> dict[str, Any]:
    """Return for each of our variants how far it is ahead of each other peer on the same questions."""
    return {
        ours: {
            other: {name: paired_difference(values[name], scores[ours][name]) for name in QUALITY}
            for other, values in scores.items()
            if other != ours
        }
        for ours in VARIANTS
        if ours in scores
    }
