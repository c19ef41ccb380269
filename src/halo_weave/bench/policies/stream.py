"""The stream that all policies go through: one memory of all conversations, and the last part of each as a chat.

The heads of all conversations come first, then their last parts one after another. When a conversation's questions are
asked, the memory holds everything up to the end of its last part, but none of the last parts that follow.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from halo_weave.bench.conversations import Conversations, Question, Turn, by_conversation
from halo_weave.bench.progress import Progress
from halo_weave.bench.recall import CachedEmbedder, ConversationStream, remember_all
from halo_weave.config import Settings
from halo_weave.engine.llamacpp.engine import LlamaEngine
from halo_weave.memory.embedders.choice import EmbedderChoice
from halo_weave.memory.embedders.embedder import Embedder
from halo_weave.memory.memory import Memory
from halo_weave.memory.search.search import Hit, Recollection
from halo_weave.memory.sqlite.store import SqliteStore
from halo_weave.paths import cache_folder
from halo_weave.records.chunks import Chunk, ChunkKey, Stored
from halo_weave.records.tokens import Token
from halo_weave.weave.living import TurnKey, turn_of

_MORE_HITS = 4
"""Search for this many times as many hits as requested, because some lie in the future of the stream."""


class StreamedTurn(NamedTuple):
    """A turn in the last part of a conversation."""

    text: str
    chunks: tuple[Chunk, ...]

    @property
    def turn(self) -> TurnKey:
        return turn_of(self.chunks[0].key)

    @property
    def start(self) -> int:
        return self.chunks[0].first_position


class AskedQuestion(NamedTuple):
    """A question, its number in the file, and the chunks that hold its answer with their token counts."""

    number: int
    question: Question
    evidence: Mapping[ChunkKey, int]

    def percent_in(self, keys: Collection[ChunkKey]) -> float:
        """Return the percentage of the evidence's tokens in these chunks."""
        return 100 * sum(tokens for key, tokens in self.evidence.items() if key in keys) / sum(self.evidence.values())


class StreamedChat(NamedTuple):
    """`turns` lists the chunks of each turn of the conversation in order; `end` is the position after the last."""

    name: str
    turns: list[list[ChunkKey]]
    tail: list[StreamedTurn]
    asked: list[AskedQuestion]
    end: int


class StreamMemory(Memory):
    """A memory of the whole stream that shows only what precedes position `until`.

    It does not change once written, so each search, chunk and token list is cached.
    """

    until = 0

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._found: dict[tuple[str, int, int], list[Hit]] = {}
        self._recollected: dict[tuple[str, int, int], Recollection] = {}
        self._read: dict[ChunkKey, Stored] = {}
        self._unpacked: dict[ChunkKey, list[Token]] = {}

    def search(self, text: str, *, limit: int = 50, **others: Any) -> list[Hit]:
        asked = (text, limit, self.until)
        if others or asked not in self._found:
            self._found[asked] = self._past(super().search(text, limit=_MORE_HITS * limit, **others), limit)
        return self._found[asked]

    def recollect(self, message: str, *, limit: int) -> Recollection:
        asked = (message, limit, self.until)
        if asked not in self._recollected:
            hits, likeness = super().recollect(message, limit=_MORE_HITS * limit)
            self._recollected[asked] = Recollection(self._past(hits, limit), likeness)
        return self._recollected[asked]

    def get_ready(self, text: str) -> None:
        """Wait until the first search has built the word index in the background, so that hits do not depend on it."""
        self.search(text)
        assert isinstance(self.store, SqliteStore)
        self.store.wait_until_indexed()
        self._found.clear()

    def chunk(self, key: ChunkKey) -> Stored | None:
        if key not in self._read and (stored := super().chunk(key)) is not None:
            self._read[key] = stored
        return self._read.get(key)

    def _past(self, hits: Sequence[Hit], limit: int) -> list[Hit]:
        there = [hit for hit in hits if hit.chunk.first_position < self.until][:limit]
        return [msgspec.structs.replace(hit, chunk=self._held(hit)) for hit in there]

    def _held(self, hit: Hit) -> Chunk:
        return self._read.setdefault(hit.chunk.key, Stored(hit.id, hit.chunk)).chunk

    def tokens(self, chunk: Chunk) -> list[Token]:
        if chunk.key not in self._unpacked:
            self._unpacked[chunk.key] = chunk.tokens()
        return self._unpacked[chunk.key]


class _CachedChoice(EmbedderChoice):
    def named_by_settings(self) -> Embedder:
        return CachedEmbedder(super().named_by_settings(), cache_folder() / "bench-embeddings.db")


def open_stream_memory(folder: Path, settings: Settings, notify: Progress) -> StreamMemory:
    choice = _CachedChoice(settings.embedder, folder / "embedders.json", notify)
    return StreamMemory(SqliteStore(folder / "halo.db"), choice, folder / "index", settings.search)


def remember(
    memory: StreamMemory, engine: LlamaEngine, conversations: Conversations, replayed: int, notify: Progress
) -> list[StreamedChat]:
    """Write the stream. Return the chats; each one's last part has at least `replayed` tokens."""
    parts = {name: _split(turns, engine, replayed) for name, turns in by_conversation(conversations.turns).items()}
    heads = [turn for head, _ in parts.values() for turn in head]
    tails = [turn for _, tail in parts.values() for turn in tail]
    store = memory.store
    assert isinstance(store, SqliteStore)
    stream = remember_all(store, [*heads, *tails], engine.model.vocabulary)
    total = store.stats().chunks
    memory.embed_missing(lambda done: notify(f"embedding {done} of {total} chunks"))
    memory.get_ready(conversations.turns[0].text)
    questions = list(enumerate(conversations.questions))
    return [
        _chat(memory, stream, name, head, tail, [one for one in questions if one[1].conversation == name])
        for name, (head, tail) in parts.items()
    ]


def _split(turns: Sequence[Turn], engine: LlamaEngine, replayed: int) -> tuple[Sequence[Turn], Sequence[Turn]]:
    """Split into head and last part; the last part begins with a user's turn."""
    start, tokens = len(turns), 0
    while start and (tokens < replayed or turns[start].role != "user"):
        start -= 1
        tokens += len(engine.tokenize(turns[start].said))
    return turns[:start], turns[start:]


def _chat(
    memory: Memory,
    stream: ConversationStream,
    name: str,
    head: Sequence[Turn],
    tail: Sequence[Turn],
    questions: Sequence[tuple[int, Question]],
) -> StreamedChat:
    def keys(turn: Turn) -> list[ChunkKey]:
        number = stream.turn_of.get((name, turn.id))
        return [] if number is None else [key for key in stream.chunks_of_turn[number] if key.role == turn.role]

    said = [StreamedTurn(turn.said, tuple(_stored(memory, key) for key in keys(turn))) for turn in tail if keys(turn)]
    of_turn = {turn.id: keys(turn) for turn in (*head, *tail)}
    asked = []
    for number, question in questions:
        evidence = {key: stream.dormant[key].tokens for turn in question.evidence for key in of_turn.get(turn, ())}
        if evidence:
            asked.append(AskedQuestion(number, question, evidence))
    end = said[-1].chunks[-1].end_position if said else 0
    return StreamedChat(name, [chunks for chunks in of_turn.values() if chunks], said, asked, end)


def _stored(memory: Memory, key: ChunkKey) -> Chunk:
    stored = memory.chunk(key)
    assert stored is not None
    return stored.chunk
