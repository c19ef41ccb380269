"""Does the memory find what matters? Asks about long conversations at the end of one stream of them all."""

import hashlib
import sqlite3
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from halo_weave.bench.cached_reader import CachedReader
from halo_weave.bench.conversations import Conversations, Question, Turn, read_conversations
from halo_weave.bench.intervals import interval
from halo_weave.bench.oracle import most_evidence
from halo_weave.bench.progress import Progress
from halo_weave.config import Settings
from halo_weave.engine.llamacpp.library import load_library
from halo_weave.engine.llamacpp.model import Model
from halo_weave.engine.llamacpp.vocabulary import ModelVocabulary
from halo_weave.engine.reader.choice import open_reader
from halo_weave.memory.attention.index import AttentionIndex
from halo_weave.memory.embedders.embedder import Embedder, open_embedder
from halo_weave.memory.embedders.words_alone import WordsAlone
from halo_weave.memory.embedding.indexing import Indexer
from halo_weave.memory.search.search import Hit, MemorySearch
from halo_weave.memory.sqlite.store import SqliteStore
from halo_weave.memory.vectors.index import VectorIndex
from halo_weave.memory.vectors.unit import Vectors
from halo_weave.paths import bundled_model_path, cache_folder
from halo_weave.records.chunks import Chunk, ChunkKey
from halo_weave.session.turn.recalling import FOUND_AT_MOST
from halo_weave.text.chunking import chunks_of
from halo_weave.weave import resurrection
from halo_weave.weave.resurrection import Candidate, Dormant, StartingBrightness

BUDGETS = (512, 1024, 2048)
FIRST_TURNS = (5, 10, 20)
_WRITTEN_AT_ONCE = 500
EvidenceId = tuple[str, str]
Signal = Literal["words", "meaning", "attention"]


def run(
    settings: Settings,
    data: Path,
    on_progress: Progress = lambda _: None,
    *,
    details: Path | None = None,
    without: Signal | None = None,
) -> dict[str, Any]:
    """Run the benchmark. `details` is a file for the results of each question, one JSON object per line.

    `without` leaves one of the search's signals out.
    """
    conversations = read_conversations(data)
    with filled_memory(settings, conversations, on_progress, without=without) as memory:
        on_progress(f"asking {len(conversations.questions)} questions")
        answers = ask_all(memory, conversations)
    if details is not None:
        details.write_bytes(b"".join(msgspec.json.encode(answer) + b"\n" for answer in answers))
    return figures(answers)


class FilledMemory(NamedTuple):
    search: MemorySearch
    embedder: "CachedEmbedder"
    stream: "ConversationStream"


@contextmanager
def filled_memory(
    settings: Settings, conversations: Conversations, on_progress: Progress, *, without: Signal | None = None
) -> Iterator[FilledMemory]:
    """A memory that holds all conversations as one stream, embedded, read and ready to be asked."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        embedder = stack.enter_context(closing(open_cached_embedder(settings, on_progress)))
        store = stack.enter_context(closing(SqliteStore(folder / "halo.db")))
        stream = fill_memory(store, embedder, conversations, on_progress)
        attention = read_all(settings, store, on_progress, without)
        if attention is not None:
            stack.enter_context(closing(attention))
        asker = WordsAlone() if without == "meaning" else embedder
        index = stack.enter_context(closing(VectorIndex(store, asker.name, asker.dimensions, folder)))
        search = MemorySearch(store, asker, index, settings.search, attention=attention, uses_words=without != "words")
        search.search(conversations.turns[0].text)
        store.wait_until_indexed()
        yield FilledMemory(search, embedder, stream)


def fill_memory(
    store: SqliteStore, embedder: "CachedEmbedder", conversations: Conversations, on_progress: Progress
) -> "ConversationStream":
    """Write all conversations into an empty memory and embed them."""
    with closing(Model(load_library(), bundled_model_path(), vocabulary_only=True)) as model:
        stream = remember_all(store, conversations.turns, model.vocabulary)
    total = store.stats().chunks
    Indexer(store, embedder).embed_missing(lambda done: on_progress(f"embedding {done} of {total} chunks"))
    return stream


def read_all(
    settings: Settings, store: SqliteStore, on_progress: Progress, without: Signal | None = None
) -> AttentionIndex | None:
    """Let the reader read all chunks, unless it is off or left out."""
    if settings.reader.kind == "off" or without == "attention":
        return None
    total = store.stats().chunks
    cache = cache_folder() / "bench-keys.db"
    index = AttentionIndex(store, lambda _: CachedReader(open_reader(settings.reader, on_progress), cache), on_progress)
    index.read_missing(lambda done: on_progress(f"reading {done} of {total} chunks"))
    return index


class ConversationStream:
    """Maps turns of the data to turns and chunks in the memory, with their token counts."""

    def __init__(self) -> None:
        self.turn_of: dict[EvidenceId, int] = {}
        self.dormant: dict[ChunkKey, Dormant] = {}
        self.chunks_of_turn: dict[int, list[ChunkKey]] = defaultdict(list)

    def add(self, turn: Turn, chunks: Sequence[Chunk]) -> None:
        self.turn_of[turn.conversation, turn.id] = chunks[0].key.turn
        self.hold(chunks)

    def hold(self, chunks: Iterable[Chunk]) -> None:
        for chunk in chunks:
            self.dormant[chunk.key] = Dormant(chunk.key, chunk.first_position, chunk.token_count, frame=0)
            self.chunks_of_turn[chunk.key.turn].append(chunk.key)

    def tokens_of(self, keys: Iterable[ChunkKey]) -> int:
        return sum(self.dormant[key].tokens for key in keys)


def remember_all(store: SqliteStore, turns: Iterable[Turn], vocabulary: ModelVocabulary) -> ConversationStream:
    """Write all conversations as one stream, in which each answer directly follows its question."""
    stream = ConversationStream()
    question: Turn | None = None
    answer_turn = 0
    waiting: list[Chunk] = []
    for turn in turns:
        tokens = vocabulary.tokenize(turn.said)
        if not tokens:
            continue
        reservation = store.reserve(len(tokens))
        answers = turn.role == "assistant" and question is not None and question.conversation == turn.conversation
        number = reservation.turn_user if turn.role == "user" else reservation.turn_assistant
        number = answer_turn if answers else number
        question, answer_turn = (turn, reservation.turn_assistant) if turn.role == "user" else (None, 0)
        chunks, position = [], reservation.position_start
        for index, part in enumerate(chunks_of(tokens)):
            key = ChunkKey(number, index, turn.role)
            chunks.append(Chunk.of_tokens(key, part, first_position=position, time=_time(turn)))
            position += len(part)
        stream.add(turn, chunks)
        waiting += chunks
        if len(waiting) >= _WRITTEN_AT_ONCE:
            store.write_chunks(waiting)
            waiting = []
    store.write_chunks(waiting)
    return stream


class Answer(msgspec.Struct, frozen=True):
    """The result of one question. `ranks` are those of the turns with evidence, from 1, or None if not found."""

    conversation: str
    question: str
    category: str
    scores: dict[str, float]
    ranks: dict[str, int | None]
    search_ms: float
    embed_ms: float
    look_ms: float


def ask_all(memory: FilledMemory, conversations: Conversations) -> list[Answer]:
    """Ask the questions that have evidence."""
    search, embedder, stream = memory
    answers = []
    for question in conversations.questions:
        if not (evidence := evidence_of(question, stream)):
            continue
        started = time.perf_counter()
        vector = embedder.embed_anew([question.text])[0]
        embedded = time.perf_counter()
        look = search.look(question.text)
        looked = time.perf_counter()
        hits = search.search_embedded(question.text, vector, look, limit=FOUND_AT_MOST)
        found = time.perf_counter()
        rank_of = {turn: rank for rank, turn in enumerate(_turns(hits), start=1)}
        answers.append(
            Answer(
                conversation=question.conversation,
                question=question.text,
                category=question.category,
                scores=score(hits, set(evidence.values()), stream) | oracle(set(evidence.values()), stream),
                ranks={turn_id: rank_of.get(turn) for turn_id, turn in evidence.items()},
                search_ms=(found - looked) * 1000,
                embed_ms=(embedded - started) * 1000,
                look_ms=(looked - embedded) * 1000,
            )
        )
    return answers


def evidence_of(question: Question, stream: ConversationStream) -> dict[str, int]:
    """Return the turns with evidence that are in the stream, by their ids in the data."""
    found = {turn_id: stream.turn_of.get((question.conversation, turn_id)) for turn_id in question.evidence}
    return {turn_id: turn for turn_id, turn in found.items() if turn is not None}


def figures(answers: Sequence[Answer]) -> dict[str, Any]:
    scores = _scores(answers)
    search_ms = [answer.search_ms for answer in answers]
    return {
        **{name: float(np.mean(values)) for name, values in scores.items()},
        "search_ms_p50": float(np.percentile(search_ms, 50)),
        "search_ms_p95": float(np.percentile(search_ms, 95)),
        "embed_ms_p50": float(np.percentile([answer.embed_ms for answer in answers], 50)),
        "look_ms_p50": float(np.percentile([answer.look_ms for answer in answers], 50)),
        "questions": len(answers),
        "by_category": _by_category(answers),
        "intervals": {name: interval(values) for name, values in scores.items()},
    }


def score(hits: Sequence[Hit], evidence: set[int], stream: ConversationStream) -> dict[str, float]:
    """Return the percentages of evidence turns among the first turns, and of evidence tokens in several budgets."""
    turns = _turns(hits)
    found = {f"recall_at_{count}": 100 * len(evidence & set(turns[:count])) / len(evidence) for count in FIRST_TURNS}
    wanted = {key for turn in evidence for key in stream.chunks_of_turn[turn]}
    weight = stream.tokens_of(wanted)
    for budget in BUDGETS:
        found[f"evidence_at_{budget}"] = 100 * stream.tokens_of(wanted & fill_context(hits, stream, budget)) / weight
    return found


def oracle(evidence: set[int], stream: ConversationStream) -> dict[str, float]:
    """Return the percentage of evidence tokens that fit into several budgets, however well they are ranked."""
    wanted = {key for turn in evidence for key in stream.chunks_of_turn[turn]}
    most = most_evidence(wanted, stream.dormant, BUDGETS)
    weight = stream.tokens_of(wanted)
    return {f"oracle_at_{budget}": 100 * tokens / weight for budget, tokens in zip(BUDGETS, most, strict=True)}


def fill_context(hits: Sequence[Hit], stream: ConversationStream, budget: int) -> set[ChunkKey]:
    """Return what would be resurrected into an empty context, not counting the template's tokens around turns."""
    candidates = [Candidate(hit.chunk.key, hit.score) for hit in hits]
    starting = StartingBrightness("fixed", mean=0)
    plan = resurrection.plan(candidates, (), stream.dormant, budget=budget, starting=starting)
    return {revival.key for revival in plan.revivals}


def open_cached_embedder(settings: Settings, on_progress: Progress) -> "CachedEmbedder":
    return CachedEmbedder(open_embedder(settings.embedder, on_progress), cache_folder() / "bench-embeddings.db")


class CachedEmbedder:
    """An embedder that caches vectors on disk across runs."""

    def __init__(self, embedder: Embedder, path: Path) -> None:
        self._embedder = embedder
        self.name, self.dimensions, self.max_tokens = embedder.name, embedder.dimensions, embedder.max_tokens
        path.parent.mkdir(parents=True, exist_ok=True)
        self._cache = sqlite3.connect(path, isolation_level=None)
        self._cache.execute("PRAGMA synchronous = OFF")
        self._cache.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID")

    def embed(self, texts: Sequence[str]) -> Vectors:
        found = {text: self._known(text) for text in texts}
        missing = [text for text, vector in found.items() if vector is None]
        found |= dict(zip(missing, self.embed_anew(missing), strict=True)) if missing else {}
        vectors = [vector for text in texts if (vector := found[text]) is not None]
        return np.stack(vectors) if vectors else np.empty((0, self.dimensions), dtype=np.float32)

    def embed_anew(self, texts: Sequence[str]) -> Vectors:
        """Embed the texts without looking them up in the cache, and cache the result."""
        vectors = self._embedder.embed(texts)
        rows = [(self._key(text), vector.tobytes()) for text, vector in zip(texts, vectors, strict=True)]
        self._cache.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)
        return vectors

    def _known(self, text: str) -> NDArray[np.float32] | None:
        row = self._cache.execute("SELECT vector FROM vectors WHERE key = ?", (self._key(text),)).fetchone()
        return None if row is None else np.frombuffer(row[0], dtype=np.float32)

    def _key(self, text: str) -> bytes:
        return hashlib.sha256(f"{self.name}\0{text}".encode()).digest()

    def count_tokens(self, text: str) -> int:
        return self._embedder.count_tokens(text)

    def close(self) -> None:
        self._cache.close()
        self._embedder.close()


def _turns(hits: Sequence[Hit]) -> list[int]:
    """Return the turns in order of their best chunk."""
    return list(dict.fromkeys(hit.chunk.key.turn for hit in hits))


def _scores(answers: Iterable[Answer]) -> dict[str, list[float]]:
    scores: dict[str, list[float]] = defaultdict(list)
    for answer in answers:
        for name, value in answer.scores.items():
            scores[name].append(value)
    return scores


def _by_category(answers: Sequence[Answer]) -> dict[str, dict[str, float]]:
    chosen: dict[str, list[Answer]] = defaultdict(list)
    for answer in answers:
        chosen[answer.category].append(answer)
    return {
        category: {
            "questions": len(own),
            **{name: float(np.mean(values)) for name, values in _scores(own).items()},
        }
        for category, own in sorted(chosen.items())
    }


def _time(turn: Turn) -> datetime:
    try:
        time_said = datetime.fromisoformat(turn.time or "")
    except ValueError:
        return datetime(2000, 1, 1, tzinfo=UTC)
    return time_said if time_said.tzinfo else time_said.replace(tzinfo=UTC)
