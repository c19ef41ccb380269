"""What the reader costs: its time beside that of the bundled embedder, bytes on disk and memory.

Reader and embedder take turns on the same chunks. The reader reads them as it does in the background: sixteen at a
time, each time after the text before them, which is read again. Both compute with the same number of threads. Times are
processor times, so that other programs on the machine hardly matter.
"""

import sqlite3
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from statistics import median

import msgspec

from halo_weave.bench.conversations import Turn, read_conversations
from halo_weave.bench.embedding.reader_memory import reader_memory_mb
from halo_weave.bench.progress import Progress
from halo_weave.bench.recall import remember_all
from halo_weave.bench.texts import paragraphs
from halo_weave.config import Settings
from halo_weave.engine.llamacpp.library import load_library
from halo_weave.engine.llamacpp.model import Model
from halo_weave.engine.reader.choice import open_reader
from halo_weave.engine.reader.llama_reader import LlamaReader, reading_threads
from halo_weave.engine.reader.protocol import Keys, Look
from halo_weave.errors import InputError
from halo_weave.memory.attention.reading import AT_ONCE, KeyIndexer
from halo_weave.memory.embedders import minilm
from halo_weave.memory.embedders.embedder import Embedder
from halo_weave.memory.embedders.gguf import GgufEmbedder
from halo_weave.memory.sqlite.store import SqliteStore
from halo_weave.paths import bundled_minilm_folder, bundled_model_path, cache_folder

SAMPLE_CHARACTERS = 48_000
_PARTS = 8
"""The sample comes from this many places of the data, so that it is not one conversation."""
_TURNS_FOR_MEMORY = 50
"""More turns take more time but no more memory."""


class EmbeddingBenchFigures(msgspec.Struct, frozen=True):
    """The cost of reading.

    Times are medians over all runs of chunks, per token as each model counts them. `reader_over_minilm` is per token
    that the reader reads, and `reader_over_minilm_with_overlap` per token of a chunk, with the text before it that is
    read again as part of the price. `bytes_per_token` is what the table of keys takes in the memory's file.
    `reader_rss_mb` is by how much a process grows that opens the reader and reads.
    """

    reader_over_minilm: float
    reader_over_minilm_with_overlap: float
    reader_us_per_token: float
    minilm_us_per_token: float
    bytes_per_token: float
    reader_rss_mb: float
    threads: int
    chunks: int
    tokens: int


class RunTimes(msgspec.Struct, frozen=True):
    """The processor time that each model took for one run of chunks, and its number of tokens.

    `read_tokens` are those of the chunks and of the text before them.
    """

    reader_s: float
    reader_tokens: int
    read_tokens: int
    minilm_s: float
    minilm_tokens: int

    @property
    def reader_us(self) -> float:
        return 1e6 * self.reader_s / self.read_tokens

    @property
    def overlap(self) -> float:
        """Tokens read per token of a chunk."""
        return self.read_tokens / self.reader_tokens

    @property
    def minilm_us(self) -> float:
        return 1e6 * self.minilm_s / self.minilm_tokens


def run(settings: Settings, data: Path | None, on_progress: Progress = lambda _: None) -> EmbeddingBenchFigures:
    if settings.reader.kind == "off":
        raise InputError("There is no reader to measure: reader.kind is off.")
    turns = sample(made_up_turns() if data is None else read_conversations(data).turns, SAMPLE_CHARACTERS)
    with ExitStack() as stack:
        file = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="halo-bench-"))) / "halo.db"
        reader = stack.enter_context(closing(open_reader(settings.reader, on_progress)))
        embedder = stack.enter_context(closing(_minilm(on_progress)))
        with closing(SqliteStore(file)) as store:
            _remember(store, turns)
            chunks = store.stats().chunks
            times = list(measure_runs(store, reader, embedder, on_progress))
        on_progress("measuring the reader's memory")
        tokens = sum(one.reader_tokens for one in times)
        return EmbeddingBenchFigures(
            # The first run warms up both models.
            **medians(times[1:] or times),
            bytes_per_token=table_bytes(file, "token_keys") / tokens,
            reader_rss_mb=reader_memory_mb(settings.reader, [turn.said for turn in turns[:_TURNS_FOR_MEMORY]]),
            threads=reading_threads(),
            chunks=chunks,
            tokens=tokens,
        )


def sample(turns: Sequence[Turn], characters: int) -> list[Turn]:
    """Return turns from several places, about this many characters together; all turns if there are not more."""
    if sum(len(turn.said) for turn in turns) <= characters:
        return list(turns)
    chosen: dict[int, Turn] = {}
    for part in range(_PARTS):
        room = characters / _PARTS
        for place in range(part * len(turns) // _PARTS, len(turns)):
            if room <= 0:
                break
            chosen[place] = turns[place]
            room -= len(turns[place].said)
    return list(chosen.values())


def made_up_turns() -> list[Turn]:
    return [
        Turn("prose", str(place), "assistant" if place % 2 else "user", text) for place, text in enumerate(paragraphs())
    ]


def measure_runs(
    store: SqliteStore, reader: LlamaReader, embedder: Embedder, on_progress: Progress
) -> Iterator[RunTimes]:
    """Let the reader read all chunks and the embedder embed them, some at a time."""
    timed = _TimedReader(reader)
    indexer = KeyIndexer(store, timed)
    total = store.stats().chunks
    while ids := store.ids_without_keys(reader.name, limit=AT_ONCE):
        on_progress(f"reading and embedding {ids[0] - 1} of {total} chunks")
        indexer.read(ids)
        texts = [entry.chunk.text for entry in store.chunks_by_ids(ids)]
        tokens = sum(min(embedder.count_tokens(text), embedder.max_tokens) for text in texts)
        started = time.process_time()
        embedder.embed(texts)
        yield RunTimes(timed.seconds, timed.tokens, timed.read_tokens, time.process_time() - started, tokens)


def medians(times: Sequence[RunTimes]) -> dict[str, float]:
    return {
        "reader_over_minilm": median(one.reader_us / one.minilm_us for one in times),
        "reader_over_minilm_with_overlap": median(one.overlap * one.reader_us / one.minilm_us for one in times),
        "reader_us_per_token": median(one.reader_us for one in times),
        "minilm_us_per_token": median(one.minilm_us for one in times),
    }


def table_bytes(file: Path, table: str) -> int:
    """Return the size of a table's pages in a memory that nobody uses any more; the table is dropped."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:

        def free_pages() -> int:
            return int(connection.execute("PRAGMA freelist_count").fetchone()[0])

        before = free_pages()
        connection.execute(f"DROP TABLE {table}")
        return (free_pages() - before) * int(connection.execute("PRAGMA page_size").fetchone()[0])


class _TimedReader:
    """A reader that notes the processor time and the tokens of the last call."""

    def __init__(self, reader: LlamaReader) -> None:
        self._reader = reader
        self.name, self.key_values = reader.name, reader.key_values
        self.seconds = 0.0
        self.tokens = self.read_tokens = 0

    def read(self, texts: Sequence[str], before: str = "") -> list[Keys]:
        earlier, started = self._reader.tokens_read, time.process_time()
        keys = self._reader.read(texts, before)
        self.seconds = time.process_time() - started
        self.tokens, self.read_tokens = sum(map(len, keys)), self._reader.tokens_read - earlier
        return keys

    def look(self, question: str) -> Look:
        return self._reader.look(question)

    def pieces(self, text: str) -> list[str]:
        return self._reader.pieces(text)

    def close(self) -> None:
        self._reader.close()


def _minilm(on_progress: Progress) -> Embedder:
    path = minilm.converted_minilm(bundled_minilm_folder(), cache_folder(), on_progress)
    return GgufEmbedder(path, name=minilm.NAME, max_tokens=minilm.MAX_TOKENS, threads=reading_threads())


def _remember(store: SqliteStore, turns: Sequence[Turn]) -> None:
    with closing(Model(load_library(), bundled_model_path(), vocabulary_only=True)) as model:
        remember_all(store, turns, model.vocabulary)
