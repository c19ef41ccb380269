"""The memory as windows, commands and servers use it."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halo_weave.errors import EmbedderError, InputError, StoreConflict
from halo_weave.memory.embedders.embedder import EmbedderSettings, open_embedder
from halo_weave.memory.embedders.minilm import NAME as MINILM
from halo_weave.memory.embedders.minilm import converted_minilm
from halo_weave.memory.embedding.indexing import Indexer
from halo_weave.memory.memory import Memory, index_folder, open_memory
from halo_weave.memory.search.ordinary_messages import ORDINARY_MESSAGES
from halo_weave.paths import bundled_minilm_folder, cache_folder
from halo_weave.records.chunks import Chunk, ChunkKey
from halo_weave.records.tokens import Token
from support.conversations import BEGIN, chunk_of_text, written
from support.servers.embedding_servers import EMBEDDINGS, embedding_server
from support.servers.loopback_server import LoopbackServer

MISSING = EmbedderSettings(kind="gguf", model="/no/such/embedder.gguf")
CATS = ("what do cats like to eat\nand to drink", "cats like fish most of all\nand fresh water")
SHIPS = ("how do ships float", "they displace as much water as they weigh")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "halo.db"


@pytest.fixture
def notices() -> list[str]:
    return []


@pytest.fixture
def memory(path: Path, notices: list[str]) -> Iterator[Memory]:
    with closing(open_memory(path, notice=notices.append)) as memory:
        yield memory


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with embedding_server() as server:
        yield server


@pytest.fixture
def served(path: Path, server: LoopbackServer, notices: list[str]) -> Iterator[Memory]:
    """A memory whose embedder can become unavailable."""
    with closing(open_memory(path, at(server), notice=notices.append)) as memory:
        yield memory


def at(server: LoopbackServer) -> EmbedderSettings:
    return EmbedderSettings(kind="openai", url=server.url)


def embedded_texts(server: LoopbackServer) -> list[str]:
    others = {"dimensions", *ORDINARY_MESSAGES}
    return [text for body in server.bodies(EMBEDDINGS) for text in body["input"] if text not in others]


def vectors_by_id(memory: Memory) -> dict[int, bytes]:
    name = memory.store.serving_embedder() or "none"
    ids, vectors = memory.store.vectors_by_ids(name, range(1, 10_000))
    return {chunk_id: vector.tobytes() for chunk_id, vector in zip(ids.tolist(), vectors, strict=True)}


def found(memory: Memory, text: str) -> list[str]:
    """Return hits by words or meaning, without their mere neighbours."""
    hits = memory.search(text)
    return [str(hit.chunk.key) for hit in hits if (hit.word_rank, hit.vector_rank) != (None, None)]


def test_a_chunk_is_found_by_words_at_once_and_by_meaning_once_embedded(memory: Memory) -> None:
    ids = written(memory, CATS, SHIPS)
    assert found(memory, "ships") == ["3:0 (user)"]
    memory.embed(ids)
    (best, *_) = memory.search("felines")
    assert best.chunk.key.turn in (1, 2)
    assert best.word_rank is None
    assert best.similarity is not None


def test_what_does_not_embed_does_not_open_the_embedder(path: Path) -> None:
    with closing(open_memory(path, MISSING)) as memory:
        written(memory, CATS, SHIPS)
        memory.delete([ChunkKey(1, 0, "user")], "test")
        assert found(memory, "cats fish") == ["2:0 (assistant)"]
        assert memory.stats().deleted_chunks == 1
        assert memory.count_missing() == 5
        assert memory.settle() == []
        with pytest.raises(EmbedderError, match=r"embedder\.gguf"):
            memory.embed_missing()


def test_a_question_is_embedded_again_with_its_answer(served: Memory, server: LoopbackServer) -> None:
    served.store.advance(next_turn=3, next_position=10_000)
    served.embed(served.write([chunk_of_text(1, 0, "user", "why")]))
    served.embed(served.write([chunk_of_text(2, 0, "assistant", "because")]))
    assert embedded_texts(server) == ["why", "why\nbecause", "why\nbecause"]


def test_a_crash_between_writing_and_embedding_is_made_good_at_the_next_opening(
    path: Path, server: LoopbackServer
) -> None:
    with closing(open_memory(path, at(server))) as memory:
        memory.store.advance(next_turn=3, next_position=10_000)
        memory.embed(memory.write([chunk_of_text(1, 0, "user", "why")]))
        memory.write([chunk_of_text(2, 0, "assistant", "because")])
    with closing(open_memory(path, at(server))) as memory:
        memory.embed_missing_later()
        assert memory.settle() == []
        assert memory.count_missing() == 0
    assert embedded_texts(server)[1:] == ["why\nbecause", "why\nbecause"]


def test_embedding_in_the_background_can_be_waited_for(memory: Memory) -> None:
    memory.embed_later(written(memory, CATS, SHIPS))
    assert memory.settle() == []
    assert memory.count_missing() == 0


def test_closing_leaves_what_waits_for_later(path: Path) -> None:
    with closing(open_memory(path)) as memory:
        memory.embed_later(written(memory, *[CATS] * 35))
    with closing(open_memory(path)) as memory:
        memory.embed_missing()
        assert memory.stats().vectors == {MINILM: 140}


def test_two_memories_on_one_file_see_each_others_chunks_by_meaning(memory: Memory, path: Path) -> None:
    memory.embed(written(memory, SHIPS))
    assert len(found(memory, "boats")) == 2
    with closing(open_memory(path)) as other:
        other.embed(written(other, CATS))
    assert found(memory, "felines")[0].startswith(("3", "4"))


def test_many_threads_may_write_embed_search_and_delete_at_once(served: Memory) -> None:
    def live() -> None:
        for _ in range(5):
            ids = written(served, SHIPS)
            served.embed_later(ids)
            assert found(served, "ships")
            served.delete([stored.chunk.key for stored in served.chunks_by_ids(ids[:1])], "test")

    with ThreadPoolExecutor(4) as threads:
        for done in [threads.submit(live) for _ in range(4)]:
            done.result()
    assert served.settle() == []
    assert len(vectors_by_id(served)) == 20
    assert served.store.verify() == []


def test_a_failing_embedder_does_not_undo_a_deletion_and_leaves_no_trace_of_the_text(
    served: Memory, server: LoopbackServer, notices: list[str]
) -> None:
    served.embed(written(served, CATS))
    server.stop()
    try:
        assert served.delete([ChunkKey(1, 0, "user")], "test").changed == (ChunkKey(1, 0, "user"),)
        (error,) = served.settle()
    finally:
        server.start()
    assert isinstance(error, EmbedderError)
    assert notices == [str(error)]
    assert served.settle() == []
    assert vectors_by_id(served) == {}
    assert served.count_missing() == 3
    before = len(embedded_texts(server))
    assert served.embed_missing() == 3
    assert not any("what do cats" in text for text in embedded_texts(server)[before:])


def test_deletions_and_their_reversal_leave_the_vectors_as_they_were(served: Memory) -> None:
    served.embed(written(served, CATS, SHIPS))
    before = vectors_by_id(served)
    served.delete([ChunkKey(1, 0, "user"), ChunkKey(2, 1, "assistant")], "test")
    served.settle()
    assert len(vectors_by_id(served)) == 4
    served.undelete([ChunkKey(1, 0, "user"), ChunkKey(2, 1, "assistant")], "test")
    served.settle()
    assert vectors_by_id(served) == before


def test_a_deletion_that_is_refused_changes_nothing(served: Memory) -> None:
    served.embed(written(served, CATS))
    before = vectors_by_id(served)
    with pytest.raises(InputError, match="There is no chunk 99:0"):
        served.delete([ChunkKey(1, 0, "user"), ChunkKey(99, 0, "user")], "test")
    served.settle()
    assert vectors_by_id(served) == before


def test_a_search_goes_on_by_words_alone_while_the_embedder_is_away_and_says_so_once(
    served: Memory, server: LoopbackServer, notices: list[str]
) -> None:
    served.embed(written(served, CATS, SHIPS))
    server.stop()
    try:
        assert found(served, "ships") == found(served, "ships") == ["3:0 (user)"]
    finally:
        server.start()
    assert len(notices) == 1
    assert notices[0].startswith("Search by words only: ")
    assert len(found(served, "ships")) == 6


def test_another_embedder_in_the_settings_does_not_serve_before_reembedding(
    path: Path, server: LoopbackServer, notices: list[str]
) -> None:
    with closing(open_memory(path)) as memory:
        memory.embed(written(memory, CATS, SHIPS))
    with closing(open_memory(path, at(server), notice=notices.append)) as memory:
        assert found(memory, "felines")[0].startswith(("1", "2"))
        memory.embed(written(memory, CATS))
        assert memory.stats().vectors == {MINILM: 10}
    (notice,) = notices
    assert MINILM in notice
    assert "openai:small.gguf" in notice
    assert "`halo-weave memory reembed`" in notice


def test_an_earlier_file_is_found_again_after_the_settings_changed(path: Path, notices: list[str]) -> None:
    file = converted_minilm(bundled_minilm_folder(), cache_folder())
    with closing(open_memory(path, EmbedderSettings(kind="gguf", model=str(file)))) as memory:
        memory.embed(written(memory, SHIPS))
        name = memory.store.serving_embedder()
    with closing(open_memory(path, notice=notices.append)) as memory:
        assert len(found(memory, "boats")) == 2
    assert name is not None
    assert f"Search still uses {name}" in notices[-1]


def test_a_server_that_the_settings_no_longer_name_is_told_nothing(
    path: Path, server: LoopbackServer, notices: list[str]
) -> None:
    with closing(open_memory(path, at(server))) as memory:
        memory.embed(written(memory, SHIPS))
    asked = len(server.requests)
    with closing(open_memory(path, notice=notices.append)) as memory:
        assert found(memory, "ships") == ["1:0 (user)"]
    assert len(server.requests) == asked
    assert "openai:small.gguf, which cannot be opened with these settings" in notices[-1]


def test_keys_are_not_written_down(path: Path, server: LoopbackServer) -> None:
    settings = EmbedderSettings(kind="openai", url=server.url, api_key="very secret")
    with closing(open_memory(path, settings)) as memory:
        memory.embed(written(memory, SHIPS))
    files = [file for file in path.parent.rglob("*") if file.is_file()]
    assert len(files) > 1
    assert not any(b"very secret" in file.read_bytes() for file in files)


def test_without_the_earlier_embedder_words_alone_are_searched(path: Path, notices: list[str]) -> None:
    with embedding_server() as server, closing(open_memory(path, at(server))) as memory:
        memory.embed(written(memory, CATS, SHIPS))
    with closing(open_memory(path, notice=notices.append)) as memory:
        assert found(memory, "ships") == ["3:0 (user)"]
        memory.embed_later(written(memory, CATS))
        assert len(memory.settle()) == 1
        assert memory.reembed().embedded == 10
        assert len(found(memory, "boats")) == 10
    assert any("Search by words only" in notice for notice in notices)


def test_reembedding_can_be_stopped_and_goes_on_while_the_old_vectors_serve(path: Path, server: LoopbackServer) -> None:
    with closing(open_memory(path)) as memory:
        memory.embed(written(memory, *[CATS, SHIPS] * 20))
        memory.delete([ChunkKey(1, 0, "user")], "test")
        memory.settle()
    with closing(open_memory(path, at(server))) as memory:
        seen: list[tuple[int, int]] = []
        stopped = memory.reembed(lambda done, total: seen.append((done, total)), lambda: len(seen) > 1)
        assert not stopped.is_complete
        assert (stopped.embedded, stopped.missing) == (64, 55)
        assert seen == [(0, 119), (64, 119)]
        assert memory.store.serving_embedder() == MINILM
        assert found(memory, "felines")
    with closing(open_memory(path, at(server))) as user, closing(open_memory(path, at(server))) as memory:
        assert found(user, "felines")
        done = memory.reembed()
        assert done.is_complete
        assert (done.embedded, done.dropped) == (55, {MINILM: 119})
        assert {name: count for name, count in memory.stats().vectors.items() if count} == {"openai:small.gguf": 119}
        assert user.search("how do ships float")[0].similarity is not None
        assert memory.store.verify() == []


def test_reembedding_with_the_same_embedder_embeds_what_is_missing(memory: Memory) -> None:
    memory.embed(written(memory, CATS))
    written(memory, SHIPS)
    assert memory.reembed().embedded == 2
    assert memory.reembed() == memory.reembed()
    assert memory.stats().vectors == {MINILM: 6}


def test_what_is_forgotten_is_in_none_of_the_files(served: Memory, path: Path) -> None:
    served.embed(written(served, CATS, SHIPS))
    index_folder(path).mkdir()
    (index_folder(path) / "vectors-of-what-was.index").write_bytes(b"displace")
    assert served.forget([ChunkKey(4, 0, "assistant")], "test") == (ChunkKey(4, 0, "assistant"),)
    served.settle()
    assert len(vectors_by_id(served)) == 5
    assert served.store.verify() == []
    served.close()
    assert not any(b"displace" in file.read_bytes() for file in path.parent.rglob("*") if file.is_file())


def test_a_cleared_memory_begins_again_with_the_embedder_of_the_settings(path: Path, server: LoopbackServer) -> None:
    with closing(open_memory(path, at(server))) as memory:
        memory.embed(written(memory, CATS))
    with closing(open_memory(path)) as memory:
        memory.clear("test")
        assert found(memory, "cats") == []
        memory.embed(written(memory, SHIPS))
        assert len(found(memory, "boats")) == 2
        assert memory.stats().vectors == {MINILM: 2}


@pytest.fixture(scope="module")
def shared_server() -> Iterator[LoopbackServer]:
    with embedding_server() as server:
        yield server


CHUNKS = [
    Chunk.of_tokens(
        ChunkKey(turn, index, "user" if turn % 2 else "assistant"),
        [Token(turn, f"turn {turn} "), Token(index, f"chunk {index} ")],
        first_position=turn * 100 + index * 2,
        time=BEGIN,
    )
    for turn in (1, 2, 3, 4)
    for index in (0, 1, 2)
]


@settings(max_examples=15)
@given(
    st.lists(
        st.tuples(st.sampled_from(("write", "write", "delete", "undelete", "merge")), st.sampled_from(CHUNKS)),
        max_size=30,
    )
)
def test_vectors_are_always_those_of_the_present_texts(
    shared_server: LoopbackServer, steps: list[tuple[str, Chunk]]
) -> None:
    with TemporaryDirectory() as folder, closing(open_memory(Path(folder) / "halo.db", at(shared_server))) as memory:
        memory.store.advance(next_turn=5, next_position=1000)
        for action, chunk in steps:
            with suppress(InputError, StoreConflict):
                act(memory, action, chunk)
        assert memory.settle() == []
        assert memory.count_missing() == 0
        before = vectors_by_id(memory)
        with closing(open_embedder(at(shared_server))) as embedder:
            Indexer(memory.store, embedder).embed(memory.store.chunks_from(0, 100))
        assert vectors_by_id(memory) == before


def act(memory: Memory, action: str, chunk: Chunk) -> None:
    key = chunk.key
    match action:
        case "write":
            memory.embed_later(memory.write([chunk]))
        case "delete":
            memory.delete([key], "test")
        case "undelete":
            memory.undelete([key], "test")
        case "merge":
            memory.merge(key, ChunkKey(key.turn, key.index + 1, key.role), "test")
