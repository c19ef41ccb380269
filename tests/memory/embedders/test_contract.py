"""The contract of every embedder, and OpenAI-compatible servers that behave or misbehave."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from halo_weave.errors import EmbedderError, SettingError
from halo_weave.memory.embedders.embedder import Embedder, EmbedderSettings, open_embedder
from halo_weave.memory.embedders.gguf import GgufEmbedder
from halo_weave.memory.embedders.minilm import converted_minilm
from halo_weave.memory.embedders.openai import OpenAIEmbedder
from halo_weave.memory.vectors.unit import normalised
from halo_weave.paths import bundled_minilm_folder, bundled_model_path
from support.servers.embedding_servers import EMBEDDINGS, embedding_server, embeds
from support.servers.loopback_server import Answer, Handler, LoopbackServer
from support.servers.openai_servers import bare, llama_server, refuses, says

TEXTS = [
    "The cat sat on the mat.",
    "",
    "Grüße aus 東京 🎉",
    "A dog lay on the rug.",
    "x y " * 300,
    " \n",
    "half a pair: \ud83d",
]


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with embedding_server() as server:
        yield server


@pytest.fixture
def served(server: LoopbackServer) -> Iterator[OpenAIEmbedder]:
    embedder = OpenAIEmbedder(server.url)
    yield embedder
    embedder.close()


@pytest.fixture(scope="module")
def minilm_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return converted_minilm(bundled_minilm_folder(), tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module", params=["encoder", "decoder", "server"])
def embedder(request: pytest.FixtureRequest, minilm_file: Path) -> Iterator[Embedder]:
    """A bidirectional model, a chat model with mean pooling, and a server."""
    if request.param == "server":
        with embedding_server() as server:
            served = OpenAIEmbedder(server.url)
            yield served
            served.close()
        return
    path = minilm_file if request.param == "encoder" else bundled_model_path()
    embedder = open_embedder(EmbedderSettings(kind="gguf", model=str(path)))
    yield embedder
    embedder.close()


def test_vectors_are_float32_of_length_1_one_per_text(embedder: Embedder) -> None:
    vectors = embedder.embed(TEXTS)
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(TEXTS), embedder.dimensions)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_batches_keep_order_and_give_the_vectors_of_single_texts(embedder: Embedder) -> None:
    texts = [f"{TEXTS[index % 4][:9]} {index % 9}" for index in range(66)]
    batch = embedder.embed(texts)
    for index in (0, 31, 32, 63, 64):
        # Quantised weights give slightly different results in batches.
        assert float(embedder.embed([texts[index]])[0] @ batch[index]) >= 0.999


def test_no_texts_are_no_vectors(embedder: Embedder) -> None:
    assert embedder.embed([]).shape == (0, embedder.dimensions)


def test_longer_texts_have_more_tokens(embedder: Embedder) -> None:
    counts = [embedder.count_tokens("one two three four " * times) for times in range(5)]
    assert counts == sorted(set(counts))


def test_several_threads_may_embed_at_once(embedder: Embedder) -> None:
    expected = embedder.embed(TEXTS[:4])
    cosines: list[float] = []

    def embed() -> None:
        cosines.extend((embedder.embed(TEXTS[:4]) * expected).sum(axis=1).tolist())

    threads = [threading.Thread(target=embed) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(cosines) == 16
    assert min(cosines) >= 0.999


def test_a_gguf_file_is_known_by_its_name_and_content(tmp_path: Path, minilm_file: Path) -> None:
    names = []
    for path in (minilm_file, bundled_model_path()):
        embedder = GgufEmbedder(path)
        names.append(embedder.name)
        embedder.close()
    assert names[0].startswith(f"gguf:{minilm_file.stem}:")
    copy = tmp_path / minilm_file.name
    copy.write_bytes(minilm_file.read_bytes())
    embedder = GgufEmbedder(copy)
    embedder.close()
    assert embedder.name == names[0] != names[1]


def test_a_gguf_file_limits_texts_by_what_it_was_trained_on(minilm_file: Path) -> None:
    embedder = GgufEmbedder(minilm_file)
    embedder.close()
    assert embedder.max_tokens == 512


def test_a_closed_embedder_says_so(minilm_file: Path) -> None:
    embedder = GgufEmbedder(minilm_file)
    embedder.close()
    embedder.close()
    with pytest.raises(EmbedderError, match="closed"):
        embedder.embed(["x"])


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(EmbedderError, match=r"missing\.gguf"):
        open_embedder(EmbedderSettings(kind="gguf", model=str(tmp_path / "missing.gguf")))


@pytest.mark.parametrize("content", [b"", b"not a model", b"GGUF\x03\0\0\0" + bytes(100)])
def test_a_file_that_is_no_model_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "bad.gguf").write_bytes(content)
    with pytest.raises(EmbedderError, match=r"bad\.gguf"):
        open_embedder(EmbedderSettings(kind="gguf", model=str(tmp_path / "bad.gguf")))


def test_a_truncated_model_is_refused(tmp_path: Path, minilm_file: Path) -> None:
    (tmp_path / "cut.gguf").write_bytes(minilm_file.read_bytes()[:-100_000])
    with pytest.raises(EmbedderError, match=r"cut\.gguf"):
        GgufEmbedder(tmp_path / "cut.gguf")


def test_a_gguf_embedder_needs_a_path() -> None:
    with pytest.raises(SettingError, match=r"embedder\.model"):
        open_embedder(EmbedderSettings(kind="gguf"))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_numbers_are_refused(bad: float) -> None:
    with pytest.raises(EmbedderError, match="source"):
        normalised(np.array([[1.0, bad]]), "source")


def test_very_large_and_very_small_vectors_are_normalised() -> None:
    vectors = normalised(np.array([[3e300, 4e300], [3e-300, 4e-300]]), "source")
    np.testing.assert_allclose(vectors, [[0.6, 0.8], [0.6, 0.8]], atol=1e-6)


def test_a_vector_of_zeros_is_refused() -> None:
    with pytest.raises(EmbedderError, match="zeros"):
        normalised(np.zeros((1, 4)), "source")


def test_a_server_is_known_by_its_model(served: OpenAIEmbedder) -> None:
    assert (served.name, served.dimensions, served.max_tokens) == ("openai:small.gguf", 32, 2048)


def test_the_settings_reach_the_server() -> None:
    with LoopbackServer({**bare(says("")), EMBEDDINGS: embeds}) as server:
        settings = EmbedderSettings(kind="openai", url=server.url, model="other:7b", api_key="secret")
        embedder = open_embedder(settings)
        assert (embedder.name, embedder.max_tokens) == ("openai:other:7b", 512)
        assert embedder.count_tokens("one two") > 2
        embedder.close()
        assert server.bodies(EMBEDDINGS)[0]["model"] == "other:7b"
        assert {headers["Authorization"] for headers in server.headers} == {"Bearer secret"}


def test_a_text_that_is_too_long_is_cut_before_it_is_sent(served: OpenAIEmbedder, server: LoopbackServer) -> None:
    long = "Grüße 🎉 " * 3000
    served.embed([long])
    [sent] = server.bodies(EMBEDDINGS)[-1]["input"]
    assert long.startswith(sent)
    assert 0.9 * served.max_tokens <= served.count_tokens(sent) <= served.max_tokens


def test_a_server_that_is_away_is_named(served: OpenAIEmbedder, server: LoopbackServer) -> None:
    server.stop()
    for attempt in (lambda: served.embed(["x"]), lambda: served.count_tokens("x"), lambda: OpenAIEmbedder(server.url)):
        with pytest.raises(EmbedderError, match=server.url):
            attempt()
    server.start()
    assert len(served.embed(["x"])) == 1


def answers_with(vectors: list[list[object]], first_index: int = 0) -> Handler:
    entries = [{"index": first_index + index, "embedding": vector} for index, vector in enumerate(vectors)]
    return lambda _: Answer(json.dumps({"data": entries}).encode())


GOOD: list[object] = [1.0] * 32


@pytest.mark.parametrize(
    "bad",
    [
        refuses(500, {"message": "crashed"}),
        refuses(400, {"message": "this model gives no embeddings"}),
        answers_with([GOOD]),
        answers_with([GOOD, GOOD, GOOD]),
        answers_with([GOOD, GOOD], first_index=1),
        answers_with([GOOD, GOOD[:31]]),
        answers_with([GOOD[:31], GOOD[:31]]),
        answers_with([[], []]),
        answers_with([GOOD, [float("nan"), *GOOD[1:]]]),
        answers_with([GOOD, [None, *GOOD[1:]]]),
        answers_with([GOOD, ["1", *GOOD[1:]]]),
        answers_with([GOOD, [0.0] * 32]),
        answers_with([GOOD, [GOOD]]),
        lambda _: Answer(b'{"data": [{"index": 0, "embedding": [1e999]}]}'),
        lambda _: Answer(b"<html>"),
        lambda _: Answer([]),
    ],
)
def test_an_answer_that_is_not_usable_is_refused_with_the_servers_address(
    served: OpenAIEmbedder, server: LoopbackServer, bad: Handler
) -> None:
    server.handlers[EMBEDDINGS] = bad
    with pytest.raises(EmbedderError, match=server.url):
        served.embed(["one", "two"])
    server.handlers[EMBEDDINGS] = embeds
    assert len(served.embed(["one", "two"])) == 2


def test_a_server_without_embeddings_is_refused_at_the_start() -> None:
    with LoopbackServer(llama_server(says(""))) as server, pytest.raises(EmbedderError, match=server.url):
        OpenAIEmbedder(server.url)
