"""The doctor reports what is installed and whether chat works."""

import json
import os
from contextlib import closing
from pathlib import Path

import pytest

from halo_weave import cli, paths
from halo_weave.engine import echo
from halo_weave.engine.llamacpp import library
from halo_weave.errors import EmbedderError, EngineError, EngineUnavailable
from halo_weave.memory.memory import index_folder
from halo_weave.memory.sqlite.store import SqliteStore
from halo_weave.memory.vectors.index import VectorIndex
from halo_weave.terminal.commands import memory_health
from support.made_up_chunks import written_texts
from support.vector_memories import EMBEDDER, clustered, write_vectors


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for variable in [name for name in os.environ if name.startswith("HALO_")]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("HALO_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_all_is_well_with_the_bundled_model(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    assert cli.main(["doctor"]) == 0
    shown = capsys.readouterr().out
    for words in (
        "Library: llama.cpp",
        f"Engine: llamacpp, {paths.bundled_model_path()}",
        "30 layers with 9 heads",
        "Context: 4,096 tokens usable, trained with 8,192",
        "Attention: yes",
        "Editing the context: yes",
        "temperature 0.7 (default)",
        "phrase penalty 0.8 (default of this model)",
        "will be prepared at first use",
        f"Data folder: {home} (does not exist yet)",
        f"Config file: {home / 'config.toml'} (does not exist yet)",
        f"Cache folder: {home / 'cache'} (does not exist yet)",
        "GB free",
    ):
        assert words in shown
    assert shown.endswith("Chat works.\n")


def test_looking_changes_nothing(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    assert cli.main(["doctor", "--set", "engine.kind=echo"]) == 0
    assert capsys.readouterr().err == ""
    assert not home.exists()


def test_the_same_as_json(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    assert cli.main(["doctor", "--json", "--set", "engine.kind=echo"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["can_chat"] is True
    assert report["library"]["package"] in ("xllamacpp", "llama-cpp-python")
    assert report["engine"]["name"] == "echo"
    assert report["engine"]["abilities"]["attention"]["available"] is True
    assert report["data_folder"] == {"path": str(home), "exists": False, "writable": True}
    assert report["free_disk_bytes"] > 0


def test_a_setting_of_ones_own_is_reported_as_such(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor", "--json", "--set", "engine.kind=echo", "--set", "generation.phrase_penalty=0.5"]) == 0
    sampling = {one["name"]: (one["value"], one["source"]) for one in json.loads(capsys.readouterr().out)["sampling"]}
    assert sampling["phrase_penalty"] == (0.5, "chosen")
    assert sampling["temperature"] == (0.7, "default")


def test_a_missing_model_fails_with_its_name_and_the_way_out(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    missing = tmp_path / "missing.gguf"
    assert cli.main(["doctor", "--model", str(missing)]) == 1
    shown = capsys.readouterr().out
    assert f"Chat does not work: The model {missing}" in shown
    assert "What to do: choose an existing GGUF chat model with --model your.gguf" in shown


def test_a_file_that_is_no_model_fails(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    nonsense = tmp_path / "nonsense.gguf"
    nonsense.write_bytes(b"nonsense")
    assert cli.main(["doctor", "--model", str(nonsense)]) == 1
    assert f"Chat does not work: The model {nonsense}" in capsys.readouterr().out


def test_a_missing_library_fails_with_the_way_out(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing_found() -> None:
        raise EngineUnavailable("No llama.cpp library is installed.")

    monkeypatch.setattr(library, "load_library", nothing_found)
    monkeypatch.setattr("halo_weave.engine.llamacpp.engine.load_library", nothing_found)
    assert cli.main(["doctor"]) == 1
    shown = capsys.readouterr().out
    assert "Library: No llama.cpp library is installed." in shown
    assert "What to do: reinstall Halo Weave" in shown


@pytest.mark.parametrize("kind", ["kobold", "openai"])
def test_a_server_that_is_away_fails_with_the_way_out(capsys: pytest.CaptureFixture[str], kind: str) -> None:
    assert cli.main(["doctor", "--engine", "http://127.0.0.1:9", "--engine-kind", kind]) == 1
    shown = capsys.readouterr().out
    assert f"Engine: {kind}, http://127.0.0.1:9" in shown
    assert "What to do: start the server" in shown


def test_an_engine_that_opens_but_cannot_answer_is_no_engine(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise EngineError("The model has lost its voice.")

    monkeypatch.setattr(echo.EchoContext, "generate", fail)
    assert cli.main(["doctor", "--set", "engine.kind=echo"]) == 1
    assert "Chat does not work: The model has lost its voice." in capsys.readouterr().out


def test_folders_that_are_there_are_told_with_whether_they_can_be_written(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    (home / "cache").mkdir(parents=True)
    (home / "config.toml").write_text("", encoding="utf-8")
    assert cli.main(["doctor", "--set", "engine.kind=echo"]) == 0
    shown = capsys.readouterr().out
    assert f"Data folder: {home} (writable)" in shown
    assert f"Config file: {home / 'config.toml'} (writable)" in shown
    assert f"Cache folder: {home / 'cache'} (writable)" in shown


def test_a_prepared_embedder_is_recognised(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    from halo_weave.memory.embedders.minilm import converted_minilm

    file = converted_minilm(paths.bundled_minilm_folder(), home / "cache")
    assert cli.main(["doctor", "--set", "engine.kind=echo"]) == 0
    assert f"Embedder: minilm, {file}, prepared" in capsys.readouterr().out


def test_a_missing_embedder_is_told_and_does_not_hinder_the_chat(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing_found() -> None:
        raise EmbedderError("The bundled embedding model is not there.")

    monkeypatch.setattr(paths, "bundled_minilm_folder", nothing_found)
    assert cli.main(["doctor", "--set", "engine.kind=echo"]) == 0
    assert "Embedder: minilm, The bundled embedding model is not there." in capsys.readouterr().out


def test_a_memory_is_told_with_its_vectors_and_index(
    capsys: pytest.CaptureFixture[str], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli.main(["doctor", "--set", "engine.kind=echo"]) == 0
    assert f"Memory: {home / 'halo.db'} (does not exist yet)" in capsys.readouterr().out
    with closing(SqliteStore(home / "halo.db")) as store:
        ids = write_vectors(store, clustered(20, 8, seed=1))
        store.serve_embedder(EMBEDDER)
        written_texts(store, "one more")
        flags = ["--set", "engine.kind=echo"]
        assert cli.main(["doctor", *flags]) == 0
        shown = capsys.readouterr().out
        assert f"Memory: {home / 'halo.db'}, OK, 21 chunks" in shown
        assert f"Vectors: 20 by {EMBEDDER}; 1 chunk without" in shown
        assert "Vector index: not needed for 20 vectors" in shown
        monkeypatch.setattr(memory_health, "EXACT_UP_TO_CHUNKS", 10)
        assert cli.main(["doctor", *flags]) == 0
        assert "Vector index: missing, will be built by the next search" in capsys.readouterr().out
        folder = index_folder(home / "halo.db")
        with closing(VectorIndex(store, EMBEDDER, 8, folder, exact_up_to_chunks=10)) as index:
            index.wait_until_built()
        assert cli.main(["doctor", *flags]) == 0
        (file,) = folder.glob("vectors-*.index")
        assert f"Vector index: {file}, OK" in capsys.readouterr().out
        file.write_bytes(file.read_bytes()[:-1])
        assert cli.main(["doctor", *flags]) == 0
        assert "damaged or outdated, will be rebuilt by the next search" in capsys.readouterr().out
        assert len(ids) == 20


def test_a_damaged_memory_is_told_with_the_way_out(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    home.mkdir()
    (home / "halo.db").write_bytes(b"nonsense" * 1000)
    assert cli.main(["doctor", "--set", "engine.kind=echo"]) == 1
    shown = capsys.readouterr().out
    assert "is not a Halo Weave memory" in shown
    assert "What to do: " in shown
    assert cli.main(["doctor", "--set", "engine.kind=echo", "--json"]) == 1
    assert "is not a Halo Weave memory" in json.loads(capsys.readouterr().out)["memory"]["problem"]


def test_a_damaged_page_is_noticed(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    with closing(SqliteStore(home / "halo.db")) as store:
        written_texts(store, *(f"text {number} " * 50 for number in range(100)))
    content = bytearray((home / "halo.db").read_bytes())
    page = content.index(b"text 50 ") // 4096 * 4096
    content[page : page + 64] = bytes(64)
    (home / "halo.db").write_bytes(content)
    assert cli.main(["doctor", "--set", "engine.kind=echo"]) == 1
    shown = capsys.readouterr().out
    assert "SQLite reports: " in shown or "is malformed" in shown
    assert "What to do: run `halo-weave memory verify`" in shown


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (["embedder.kind=gguf", "embedder.model=/no/such.gguf"], "The file /no/such.gguf does not exist"),
        (["embedder.kind=openai"], "embedder.url is not set; set it to the address of the embedding server."),
        (["embedder.kind=openai", "embedder.url=http://x"], "Embedder: openai, http://x"),
    ],
)
def test_the_embedder_that_was_chosen_is_looked_at(
    capsys: pytest.CaptureFixture[str], settings: list[str], words: str
) -> None:
    flags = [part for setting in settings for part in ("--set", setting)]
    assert cli.main(["doctor", "--set", "engine.kind=echo", *flags]) == 0
    assert words in capsys.readouterr().out
