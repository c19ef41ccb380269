"""Vectors follow the chunks that they represent."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from halo_weave.memory.embedding.indexing import Indexer
from halo_weave.memory.sqlite.store import SqliteStore
from halo_weave.memory.vectors.unit import Vectors
from halo_weave.records.chunks import Chunk, ChunkKey
from halo_weave.records.roles import Role
from halo_weave.records.tokens import Token

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class NotingEmbedder:
    """Counts words as tokens and records the texts that it embeds."""

    name, dimensions, max_tokens = "noting", 4, 256

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.texts.extend(texts)
        return np.array([[len(text), 1, 0, 0] for text in texts], dtype=np.float32).reshape(-1, 4)

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def close(self) -> None:
        pass


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path / "halo.db")
    store.advance(next_turn=1000, next_position=1_000_000)
    yield store
    store.close()


@pytest.fixture
def embedder() -> NotingEmbedder:
    return NotingEmbedder()


def chunk(turn: int, index: int, role: Role, text: str) -> Chunk:
    tokens = [Token(number, word + " ") for number, word in enumerate(text.split())]
    key = ChunkKey(turn, index, role)
    return Chunk.of_tokens(key, tokens, first_position=turn * 1000 + index * 100, time=NOW)


def remember(store: SqliteStore, indexer: Indexer, *chunks: Chunk) -> None:
    indexer.embed(store.chunks_by_ids(store.write_chunks(chunks)))
    indexer.embed_again_after({chunk.key for chunk in chunks})


def test_a_question_is_embedded_again_when_its_answer_begins(store: SqliteStore, embedder: NotingEmbedder) -> None:
    indexer = Indexer(store, embedder)
    remember(store, indexer, chunk(1, 0, "user", "what is it"), chunk(1, 1, "user", "please tell"))
    assert embedder.texts == ["what is it", "what is it\nplease tell"]
    embedder.texts.clear()
    remember(store, indexer, chunk(2, 0, "assistant", "a cat"), chunk(2, 1, "assistant", "with blue eyes"))
    assert embedder.texts == [
        "what is it\na cat",
        "what is it\na cat\nwith blue eyes",
        "what is it\na cat",
        "what is it\nplease tell\na cat",
    ]


def test_a_deleted_opening_is_no_part_of_its_neighbours_any_more(store: SqliteStore, embedder: NotingEmbedder) -> None:
    indexer = Indexer(store, embedder)
    question = chunk(1, 0, "user", "a secret question")
    remember(store, indexer, question, chunk(2, 0, "assistant", "an answer"), chunk(2, 1, "assistant", "and more"))
    store.delete([question.key], "test")
    embedder.texts.clear()
    indexer.embed_again_after([question.key])
    assert embedder.texts == ["an answer", "an answer\nand more"]


def test_other_conversations_are_left_alone(store: SqliteStore, embedder: NotingEmbedder) -> None:
    indexer = Indexer(store, embedder)
    remember(store, indexer, chunk(1, 0, "user", "one"), chunk(2, 0, "assistant", "two"))
    embedder.texts.clear()
    remember(store, indexer, chunk(3, 0, "user", "three"))
    assert embedder.texts == ["three"]


def test_embedding_what_is_missing_can_be_stopped_and_goes_on(store: SqliteStore, embedder: NotingEmbedder) -> None:
    indexer = Indexer(store, embedder)
    store.write_chunks([chunk(turn, 0, "system", f"text {turn}") for turn in range(1, 151)])
    stops = iter([False, True])
    assert indexer.embed_missing(is_stopped=lambda: next(stops)) == 64
    seen: list[int] = []
    assert indexer.embed_missing(seen.append) == 86
    assert seen == [64, 86]
    assert store.ids_without_vector(embedder.name) == []
    assert sorted(embedder.texts) == sorted(f"text {turn}" for turn in range(1, 151))


def test_what_was_embedded_before_its_answer_came_is_embedded_again_with_it(
    store: SqliteStore, embedder: NotingEmbedder
) -> None:
    indexer = Indexer(store, embedder)
    remember(store, indexer, chunk(1, 0, "user", "what is it"))
    store.write_chunks([chunk(2, 0, "assistant", "a cat")])
    embedder.texts.clear()
    assert indexer.embed_missing() == 1
    assert embedder.texts == ["what is it\na cat", "what is it\na cat"]


def test_deleted_chunks_get_no_vector(store: SqliteStore, embedder: NotingEmbedder) -> None:
    indexer = Indexer(store, embedder)
    (stored_id,) = store.write_chunks([chunk(1, 0, "user", "gone")])
    stored = store.chunks_by_ids([stored_id])
    store.delete([stored[0].chunk.key], "test")
    assert indexer.embed(stored) == 0
    assert embedder.texts == []
