"""The attention index in the memory, with the real reader."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halo_weave.engine.reader.llama_reader import open_bundled_reader
from halo_weave.engine.reader.protocol import Keys, Look, Reader
from halo_weave.engine.reader.settings import ReaderSettings
from halo_weave.errors import EngineStopped, EngineUnavailable
from halo_weave.memory.attention.index import AttentionIndex
from halo_weave.memory.attention.reading import KeyIndexer
from halo_weave.memory.memory import Memory, open_memory
from halo_weave.memory.sqlite.store import SqliteStore
from halo_weave.paths import bundled_model_path, cache_folder
from support.conversations import written
from support.made_up_chunks import text_chunk, written_texts

SAID = (
    ("We had soup for lunch again.", "Soup is always a good choice."),
    ("My sister's dog is called Biscuit.", "What a lovely name."),
    ("The train to Graz was late.", "I hope you had something to read."),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "halo.db"


@pytest.fixture
def memory(path: Path) -> Iterator[Memory]:
    with closing(open_memory(path, reader=ReaderSettings())) as memory:
        yield memory


class WordReader:
    """A reader without a model: each word is a token, and its key holds the lengths of the text before it."""

    name, key_values = "words", 4

    def read(self, texts: Sequence[str], before: str = "") -> list[Keys]:
        return [np.full((len(text.split()), self.key_values), len(before) % 8, dtype=np.int8) for text in texts]

    def look(self, question: str) -> Look:
        return Look((question,), np.ones((1, self.key_values), dtype=np.float32), np.ones(1, dtype=np.float32))

    def pieces(self, text: str) -> list[str]:
        return text.split()

    def close(self) -> None:
        pass


class CountingReader(WordReader):
    """Counts how often it reads a question, and fails where a test asks for it."""

    def __init__(self) -> None:
        self.looks = 0
        self.fails = False

    def look(self, question: str) -> Look:
        self.looks += 1
        return super().look(question)

    def pieces(self, text: str) -> list[str]:
        if self.fails:
            raise EngineUnavailable("The reader has been closed.")
        return super().pieces(text)


def keys_in(path: Path, ids: list[int]) -> dict[int, Keys]:
    with (
        closing(open_bundled_reader(bundled_model_path(), cache_folder())) as reader,
        closing(SqliteStore(path)) as store,
    ):
        return store.keys_by_ids(reader.name, ids, reader.key_values)


def test_a_hit_says_how_strongly_it_is_looked_at_and_at_which_words(memory: Memory) -> None:
    memory.embed_later(written(memory, *SAID))
    assert memory.settle() == []
    question = "What is the dog called?"
    (best, *_) = memory.with_words(memory.search(question), question)
    assert "Biscuit" in best.chunk.text
    assert best.attention_rank == 1
    assert best.attention is not None
    assert "dog" in [best.chunk.text[start:end] for start, end in best.looked_at]


def test_without_keys_the_search_works_by_words_and_meaning(path: Path) -> None:
    with closing(open_memory(path)) as memory:
        memory.embed(written(memory, SAID[1]))
        hit = memory.search("dog")[0]
        assert (hit.attention, hit.attention_rank, hit.looked_at) == (None, None, ())


def test_what_an_earlier_process_left_unread_is_read_after_opening(path: Path) -> None:
    with closing(open_memory(path)) as before:
        written(before, *SAID)
    with closing(open_memory(path, reader=ReaderSettings())) as memory:
        memory.embed_missing_later()
        assert memory.settle() == []
        assert memory.read_missing() == 0
        assert memory.search("What is the name of the dog?")[0].attention is not None


def test_a_reader_that_cannot_be_opened_is_reported_and_search_goes_on(path: Path) -> None:
    def broken(_: object) -> Reader:
        raise EngineUnavailable("There is no reader.")

    with closing(SqliteStore(path)) as store:
        written_texts(store, "one")
        index = AttentionIndex(store, broken, lambda _: None)
        assert index.look("one") is None
        with pytest.raises(EngineUnavailable):
            index.read([1])


def test_a_question_is_read_once_for_the_search_and_the_words_of_its_hits(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
        ids = written_texts(store, "one dog", "two cats")
        reader = CountingReader()
        index = AttentionIndex(store, lambda _: reader, lambda _: None)
        index.read(ids)
        texts = {ids[0]: "one dog"}
        assert index.looked_at("Which dog?", {}) == {}
        assert reader.looks == 0
        index.look("Which dog?")
        assert list(index.looked_at("Which dog?", texts)) == ids[:1]
        assert reader.looks == 1
        index.looked_at("Which cat?", texts)
        assert reader.looks == 2


def test_words_that_cannot_be_found_are_left_out_and_the_reason_is_reported(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
        ids = written_texts(store, "one dog", "not read")
        reader, problems = CountingReader(), list[str]()
        index = AttentionIndex(store, lambda _: reader, problems.append)
        assert index.looked_at("Which dog?", {ids[0]: "one dog"}) == {}
        index.read(ids[:1])
        assert list(index.looked_at("Which dog?", {ids[0]: "one dog", ids[1]: "not read"})) == ids[:1]
        reader.fails = True
        assert index.looked_at("Which dog?", {ids[0]: "one dog"}) == {}
        assert problems == ["Search without attention: The reader has been closed."]


def test_reading_that_was_stopped_continues_where_it_ended(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
        ids = written_texts(store, *(f"text number {number}" for number in range(50)))
        reader = WordReader()
        index = AttentionIndex(store, lambda _: reader, lambda _: None)
        seen: list[int] = []
        index.read_missing(seen.append, lambda: len(seen) == 1)
        assert 0 < seen[-1] < len(ids)
        assert index.read_missing() == len(ids) - seen[-1]
        assert index.ids_without_keys(0, 100) == []


def test_chunks_after_a_deleted_one_are_read_again_without_it(path: Path) -> None:
    with closing(open_memory(path, reader=ReaderSettings())) as memory:
        ids = written(memory, *SAID)
        memory.read(ids)
        before = keys_in(path, ids)
        memory.delete([memory.chunks_by_ids([ids[2]])[0].chunk.key], "test")
        memory.settle()
        after = keys_in(path, ids)
        assert ids[2] not in after
        assert all(np.array_equal(before[one], after[one]) for one in ids[:2])
        assert any(not np.array_equal(before[one], after[one]) for one in ids[3:])


def test_keys_of_chunks_after_a_deleted_one_leave_even_without_a_reader(path: Path) -> None:
    with closing(open_memory(path, reader=ReaderSettings())) as memory:
        ids = written(memory, *SAID)
        memory.read(ids)
    with closing(open_memory(path)) as memory:
        memory.delete([memory.chunks_by_ids([ids[2]])[0].chunk.key], "test")
    assert set(keys_in(path, ids)) == set(ids[:2])


class RememberingReader(WordReader):
    """Notes for each text what came before it when it was last read."""

    def __init__(self) -> None:
        self.read_with: dict[str, str] = {}

    def read(self, texts: Sequence[str], before: str = "") -> list[Keys]:
        for number, text in enumerate(texts):
            self.read_with[text] = " ".join([before, *texts[:number]])
        return super().read(texts, before)


lengths = st.lists(st.sampled_from((1, 30, 300, 3_000)), min_size=2, max_size=70)


@settings(max_examples=50)
@given(lengths, st.data())
def test_no_keys_are_left_that_were_read_with_a_deleted_text(sizes: list[int], data: st.DataObject) -> None:
    with TemporaryDirectory() as folder, closing(SqliteStore(Path(folder) / "halo.db")) as store:
        texts = [f"<{number}>{'x' * size}" for number, size in enumerate(sizes)]
        reservation = store.reserve(len(texts))
        turn, first = reservation.turn_user, reservation.position_start
        ids = store.write_chunks([text_chunk(turn, text, first=first + n, index=n) for n, text in enumerate(texts)])
        reader = RememberingReader()
        indexer = KeyIndexer(store, reader)
        for some in data.draw(st.lists(st.sets(st.sampled_from(ids)), max_size=4)):
            indexer.read(some)
        for deleted in data.draw(st.lists(st.sampled_from(ids), min_size=1, max_size=3, unique=True)):
            store.delete([store.chunks_by_ids([deleted])[0].chunk.key], "test")
            mark = f"<{ids.index(deleted)}>"
            left = store.keys_by_ids(reader.name, ids, reader.key_values)
            assert not any(mark in reader.read_with[texts[ids.index(chunk_id)]] for chunk_id in left)
            indexer.read_missing()
            assert set(store.keys_by_ids(reader.name, ids, reader.key_values)) == {
                entry.id for entry in store.chunks_by_ids(ids) if not entry.chunk.deleted
            }


def test_chunks_are_read_again_if_a_text_before_them_is_deleted_meanwhile(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
        first, second = written_texts(store, "the secret", "the rest")
        key = store.chunks_by_ids([first])[0].chunk.key

        class DeletingReader(RememberingReader):
            def read(self, texts: Sequence[str], before: str = "") -> list[Keys]:
                if not store.chunks_by_ids([first])[0].chunk.deleted:
                    store.delete([key], "test")
                return super().read(texts, before)

        reader = DeletingReader()
        assert KeyIndexer(store, reader).read([second]) == 1
        assert "secret" not in reader.read_with["the rest"]


def test_a_model_that_cannot_be_the_reader_is_reported_once_and_search_goes_on(path: Path) -> None:
    notices: list[str] = []
    settings = ReaderSettings(kind="gguf", model=str(path.with_name("missing.gguf")))
    with closing(open_memory(path, reader=settings, notice=notices.append)) as memory:
        memory.embed_later(written(memory, *SAID))
        assert [type(error) for error in memory.settle()] == [EngineUnavailable]
        memory.open_reader()
        assert "Biscuit" in memory.search("What is the name of the dog?")[0].chunk.text
    assert [notice for notice in notices if "attention" in notice] == [
        f"Search without attention: The model {settings.model} cannot be read: No such file or directory."
    ]


def test_a_reader_without_a_model_says_what_to_set(path: Path) -> None:
    notices: list[str] = []
    with closing(open_memory(path, reader=ReaderSettings(kind="gguf"), notice=notices.append)) as memory:
        memory.open_reader()
    assert notices == [
        "Search without attention: reader.model is empty; set it to the path of a GGUF file, or set reader.kind to "
        "bundled."
    ]


def opened(reader: Reader, _: object) -> Reader:
    return reader


def test_after_a_change_of_the_reader_all_chunks_are_read_again(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
        ids = written_texts(store, "one text", "another text")
        for name, values in (("first", 4), ("second", 6)):
            reader = WordReader()
            reader.name, reader.key_values = name, values
            index = AttentionIndex(store, partial(opened, reader), lambda _: None)
            assert index.ids_without_keys(0, 10) == ids
            assert index.read_missing() == 2
            found = store.keys_by_ids(name, ids, values)
            assert {own.shape for own in found.values()} == {(2, values)}
        assert store.keys_by_ids("first", ids, 4) == {}


def test_a_memory_that_is_closed_while_the_head_is_sought_does_not_wait_for_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = threading.Event()

    def seek(_settings: object, _notice: object, is_stopped: Callable[[], bool]) -> Reader:
        begun.set()
        while not is_stopped():
            time.sleep(0.01)
        raise EngineStopped("The search was stopped.")

    monkeypatch.setattr("halo_weave.memory.memory.open_reader", seek)
    notices: list[str] = []
    memory = open_memory(path, reader=ReaderSettings(), notice=notices.append)
    memory.embed_later(written(memory, SAID[0]))
    assert begun.wait(60)
    memory.close()
    assert notices == []
