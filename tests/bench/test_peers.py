"""`bench peers`: every peer answers the same questions over the same chunks, and is scored as `bench recall` scores."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import numpy as np
import pytest

from bench.test_recall import ROWS, written
from halo_weave.bench import recall
from halo_weave.bench.peers import peers
from halo_weave.bench.peers.ours import VARIANTS
from halo_weave.bench.peers.peer import Corpus, OpenPeer, Peer
from halo_weave.bench.peers.processes import Questions, measure
from halo_weave.bench.peers.registry import PEERS, is_installed
from halo_weave.bench.peers.titles import TITLES
from halo_weave.bench.peers.word_indexes import WORD_INDEXES
from halo_weave.bench.scale import made_up_memory as making
from halo_weave.config import Settings
from halo_weave.engine.echo import EchoEngine
from halo_weave.errors import InputError
from halo_weave.memory.sqlite.store import SqliteStore
from halo_weave.records.chunks import Chunk, ChunkKey, utc_now

DIMENSIONS = 8
EMBEDDER = "made up"
TEXTS = [
    "My cat Miso sleeps on the warm router.",
    "The ferry to the island was late because of the crane.",
    "Bread needs flour, water, salt and patience.",
    "We painted the garden fence green in spring.",
    "The violin lesson was moved to Thursday.",
]
VECTORS = np.eye(len(TEXTS), DIMENSIONS, dtype=np.float32)
NOWHERE = np.full(DIMENSIONS, DIMENSIONS**-0.5, dtype=np.float32)


def test_pages_have_a_title_for_every_peer() -> None:
    assert set(TITLES) == set(PEERS)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    database = tmp_path_factory.mktemp("corpus") / "halo.db"
    with closing(SqliteStore(database)) as store:
        for text, vector in zip(TEXTS, VECTORS, strict=True):
            tokens = EchoEngine().tokenize(text)
            reserved = store.reserve(len(tokens))
            key = ChunkKey(reserved.turn_user, 0, "user")
            chunk = Chunk.of_tokens(key, tokens, first_position=reserved.position_start, time=utc_now())
            store.put_vectors(EMBEDDER, {store.write_chunks([chunk])[0]: vector})
    return Corpus(str(database), EMBEDDER, DIMENSIONS)


@pytest.fixture(scope="module", params=list(PEERS.values()), ids=list(PEERS))
def peer(request: pytest.FixtureRequest) -> Peer:
    peer: Peer = request.param
    if not is_installed(peer):
        pytest.skip(f"{peer.name} is not installed; `uv sync --extra peers` installs it")
    return peer


@pytest.fixture(scope="module")
def opened(peer: Peer, corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenPeer]:
    folder = tmp_path_factory.mktemp("peer")
    peer.build(corpus, folder)
    opened = peer.open(corpus, folder)
    yield opened
    opened.close()


@pytest.mark.parametrize("name", ["fts5", "bm25s", "tantivy", *VARIANTS])
def test_the_development_environment_has_peers_that_the_tests_cannot_skip(name: str) -> None:
    assert is_installed(PEERS[name])


def test_the_chunks_of_a_corpus_come_with_their_own_vectors(corpus: Corpus) -> None:
    (batch,) = corpus.batches()
    assert batch.texts == TEXTS
    np.testing.assert_array_equal(batch.vectors, VECTORS)


@pytest.mark.parametrize("place", range(len(TEXTS)))
def test_a_peer_finds_the_chunk_with_the_words_and_the_vector_of_the_question(
    opened: OpenPeer, corpus: Corpus, place: int
) -> None:
    (batch,) = corpus.batches()
    question = " ".join(TEXTS[place].split()[-4:])
    assert opened.search(question, VECTORS[place], 3)[0] == batch.ids[place]


def test_a_peer_returns_at_most_as_many_chunks_as_asked_for_and_none_twice(opened: OpenPeer) -> None:
    question = " ".join(TEXTS)
    assert len(opened.search(question, NOWHERE, 2)) == 2
    found = opened.search(question, NOWHERE, 100)
    assert len(found) == len(set(found)) == len(TEXTS)


@pytest.mark.parametrize("text", ['"cat" AND (NOT) OR: *router^2', "…?!", "猫はどこで寝ますか", "zzzz", "the"])
def test_no_text_makes_a_peer_fail(opened: OpenPeer, text: str) -> None:
    assert len(opened.search(text, NOWHERE, 3)) <= 3


def test_a_run_scores_our_search_as_bench_recall_does(tmp_path: Path) -> None:
    data = written(tmp_path / "data.jsonl", ROWS)
    expected = recall.run(Settings(), data)
    figures = peers.run(Settings(), data, sizes=(), names=["fts5", "halo-weave"])
    ours = figures["peers"]["halo-weave"]
    assert {name: ours[name] for name in peers.QUALITY} == {name: expected[name] for name in peers.QUALITY}
    assert (figures["questions"], figures["chunks"], figures["speed"]) == (2, 4, {})
    assert figures["ahead_of"]["halo-weave"]["fts5"]["recall_at_10"] == (0, 0, 0)
    assert all(one["search_ms_p50"] > 0 and one["rss_mb"] > 0 for one in figures["peers"].values())


def test_speed_is_measured_at_every_size_for_every_peer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HALO_HOME", str(tmp_path))
    monkeypatch.setattr(making, "_FEWEST_REAL_TEXTS", 20)
    data = written(tmp_path / "data.jsonl", ROWS)
    figures = peers.run(Settings(), data, sizes=(200,), names=["fts5", "tantivy", "halo-weave"])
    assert list(figures["speed"]["200"]) == ["fts5", "tantivy", "halo-weave"]
    for one in figures["speed"]["200"].values():
        assert 0 < one["search_ms_p50"] <= one["search_ms_p95"]
    assert list(figures["words"]["200"]) == ["tantivy", "halo-weave"]
    for one in figures["words"]["200"].values():
        assert all(one[f"{what}_ms_p50"] > 0 for what in ("best", "counts", "places", "written"))


def test_a_peer_that_is_not_installed_is_left_out_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = Peer("absent", ("a_package_that_nobody_has",), PEERS["fts5"].build, PEERS["fts5"].open)
    monkeypatch.setattr(peers, "PEERS", {"fts5": PEERS["fts5"], "absent": missing})
    notices: list[str] = []
    figures = peers.run(Settings(), written(tmp_path / "data.jsonl", ROWS), notices.append, sizes=())
    assert list(figures["peers"]) == ["fts5"]
    assert figures["not_installed"] == "absent"
    assert notices[0] == "Not installed and left out: absent; `pip install 'halo-weave[peers]'` installs them."
    with pytest.raises(InputError, match="absent is not installed"):
        peers.chosen(["absent"])


def test_an_unknown_peer_is_refused_with_the_known_names() -> None:
    with pytest.raises(InputError, match="no peer 'elastic'; choose from fts5, bm25s, tantivy, lancedb, halo-weave"):
        peers.chosen(["fts5", "elastic"])


def test_a_peer_whose_process_fails_is_named_in_one_sentence(corpus: Corpus, tmp_path: Path) -> None:
    without_vectors = Corpus(corpus.database, "another embedder", DIMENSIONS)
    with pytest.raises(InputError, match="The process of fts5 failed at the step 'build'"):
        measure("fts5", Questions(without_vectors, ["cat"], VECTORS[:1]), tmp_path, 3)


def test_both_word_indexes_count_the_same_and_find_at_once_what_was_written(corpus: Corpus, tmp_path: Path) -> None:
    words, ids = ["the", "router", "salt", "nowhere"], np.arange(1, len(TEXTS) + 1)
    answers = []
    for name, open_index in WORD_INDEXES.items():
        database, folder = tmp_path / f"{name}.db", tmp_path / name
        shutil.copyfile(corpus.database, database)
        folder.mkdir()
        copied = msgspec.structs.replace(corpus, database=str(database))
        with closing(open_index(copied, folder)) as index:
            index.write("Salt and more salt for the router")
            places = index.places(words, np.append(ids, len(TEXTS) + 1))
            answers.append((index.counts(words), places.frequencies.tolist(), places.parts))
            assert set(index.best(["salt"], 5)) == {3, len(TEXTS) + 1}
    assert answers[0] == answers[1]
    assert answers[0][0] == [5, 2, 2, 0]
    assert answers[0][1][2] == [0, 0, 1, 0, 0, 2]
    assert answers[0][2] == [1, 1, 1, 0]
