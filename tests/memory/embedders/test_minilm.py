"""The bundled embedding model: its conversion, and its vectors compared with an independent implementation's."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from halo_weave.errors import EmbedderError
from halo_weave.memory.embedders import minilm
from halo_weave.memory.embedders.embedder import Embedder, EmbedderSettings, open_embedder
from halo_weave.memory.embedders.gguf import GgufEmbedder
from halo_weave.memory.embedders.minilm import converted_minilm
from halo_weave.paths import bundled_minilm_folder
from support.folders import DATA

REFERENCES = json.loads((DATA / "minilm_reference.json").read_text(encoding="utf-8"))["references"]
TEXTS = [reference["text"] for reference in REFERENCES]


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return converted_minilm(bundled_minilm_folder(), tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def embedder(converted: Path) -> Iterator[Embedder]:
    embedder = GgufEmbedder(converted, name=minilm.NAME, max_tokens=minilm.MAX_TOKENS)
    yield embedder
    embedder.close()


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("index", range(len(TEXTS)))
def test_a_vector_is_that_of_the_published_model(embedder: Embedder, index: int) -> None:
    [vector] = embedder.embed([TEXTS[index]])
    assert float(vector @ np.array(REFERENCES[index]["vector"])) >= 0.999


def test_tokens_are_counted_as_the_published_tokenizer_counts_them(embedder: Embedder) -> None:
    counts = [min(embedder.count_tokens(text), embedder.max_tokens) for text in TEXTS]
    assert counts == [reference["tokens"] for reference in REFERENCES]


def test_the_facts_of_the_model_are_told(embedder: Embedder) -> None:
    assert (embedder.name, embedder.dimensions, embedder.max_tokens) == ("all-MiniLM-L6-v2", 384, 256)


def test_a_batch_gives_the_same_vectors_as_single_texts_in_the_same_order(embedder: Embedder) -> None:
    texts = TEXTS + [f"{index} ships" for index in range(65)] + TEXTS
    batch = embedder.embed(texts)
    for index in (*range(len(TEXTS)), 20, 60, 73, 74, *range(75, len(texts))):
        assert float(embedder.embed([texts[index]])[0] @ batch[index]) >= 0.9999


def test_vectors_have_length_1_even_of_texts_with_nothing_in_them(embedder: Embedder) -> None:
    vectors = embedder.embed(["", " \n", "\0", "\ud800", "[SEP] [CLS]", "word"])
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_no_texts_give_no_vectors(embedder: Embedder) -> None:
    assert embedder.embed([]).shape == (0, 384)


def test_what_lies_beyond_256_tokens_does_not_count(embedder: Embedder) -> None:
    long = "the tide comes in and goes out again " * 60
    same, other = embedder.embed([long + "rhinoceros", long + "parliament"])
    assert float(same @ other) >= 0.99999


def test_signs_of_control_in_a_text_are_text(embedder: Embedder) -> None:
    assert embedder.count_tokens("[SEP]") > 3


def test_the_default_embedder_is_the_bundled_one_kept_in_the_cache_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HALO_HOME", str(tmp_path))
    lines: list[str] = []
    for _ in range(2):
        embedder = open_embedder(EmbedderSettings(), lines.append)
        assert embedder.name == minilm.NAME
        embedder.close()
    assert len(lines) == 2, "progress is told when the file is made, and not again"
    assert len(files(tmp_path / "cache")) == 1


def test_a_sound_file_is_not_made_again(converted: Path) -> None:
    before = converted.stat().st_mtime_ns
    assert converted_minilm(Path("nowhere"), converted.parent) == converted
    assert converted.stat().st_mtime_ns == before


@pytest.mark.parametrize("damage", ["truncated", "changed", "emptied"])
def test_a_damaged_file_is_made_again(tmp_path: Path, converted: Path, damage: str) -> None:
    content = converted.read_bytes()
    damaged = tmp_path / converted.name
    changed = bytearray(content)
    changed[-1000] ^= 1
    damaged.write_bytes({"truncated": content[:-4096], "changed": bytes(changed), "emptied": b""}[damage])
    assert converted_minilm(bundled_minilm_folder(), tmp_path) == damaged
    assert damaged.read_bytes() == content
    assert files(tmp_path) == [converted.name]


def test_two_processes_at_once_leave_one_good_file(tmp_path: Path, converted: Path) -> None:
    program = (
        "import sys, pathlib\n"
        "from halo_weave.memory.embedders.minilm import converted_minilm\n"
        "from halo_weave.paths import bundled_minilm_folder\n"
        "print('ready', flush=True)\n"
        "sys.stdin.readline()\n"
        "print(converted_minilm(bundled_minilm_folder(), pathlib.Path(sys.argv[1])))\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    processes = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    answers = [process.communicate()[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert {answer.strip() for answer in answers} == {str(tmp_path / converted.name)}
    assert files(tmp_path) == [converted.name]
    assert (tmp_path / converted.name).read_bytes() == converted.read_bytes()


def test_what_an_ended_process_left_is_removed_but_not_what_one_is_writing(tmp_path: Path, converted: Path) -> None:
    abandoned, current = tmp_path / ".all-minilm-l6-v2.v1-old.part", tmp_path / ".all-minilm-l6-v2.v1-new.part"
    for path in (abandoned, current):
        path.write_bytes(b"half")
    os.utime(abandoned, (time.time() - 7200, time.time() - 7200))
    converted_minilm(bundled_minilm_folder(), tmp_path)
    assert files(tmp_path) == sorted([current.name, converted.name])


def test_weights_that_are_not_as_published_are_refused_and_leave_nothing(tmp_path: Path) -> None:
    source, cache = tmp_path / "source", tmp_path / "cache"
    source.mkdir()
    for name in ("config.json", "vocab.txt"):
        (source / name).write_bytes((bundled_minilm_folder() / name).read_bytes())
    (source / "model.safetensors").write_bytes(b"\x08" + bytes(7) + b"nonsense")
    with pytest.raises(EmbedderError, match="could not be prepared"):
        converted_minilm(source, cache)
    assert files(cache) == []


def test_a_cache_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EmbedderError, match="file"):
        converted_minilm(bundled_minilm_folder(), tmp_path / "file")
