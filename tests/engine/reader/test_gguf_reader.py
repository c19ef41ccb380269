"""A reader made from a model of the user's: the real bundled model given as a file, and models that cannot be one."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import NoReturn

import msgspec
import numpy as np
import pytest

from halo_weave.engine.reader import gguf_reader
from halo_weave.engine.reader.gguf_reader import ProbedModel, open_gguf_reader
from halo_weave.engine.reader.looking_head import LookingHead
from halo_weave.engine.reader.protocol import Reader
from halo_weave.engine.reader.reading_frame import ReadingFrame
from halo_weave.errors import EngineError, EngineStopped, EngineUnavailable
from halo_weave.memory.attention.looking import attention
from halo_weave.paths import bundled_model_path
from halo_weave.system.file_fingerprint import file_fingerprint
from support import tiny_models
from support.quizzes import short_quiz

SAID = (
    "Ines: I bought a red canoe in Bergen last summer, and it leaks.",
    "Tom: We had soup for lunch again. The bread was good, though.",
    "Ines: My sister's dog is called Biscuit and loves to swim.",
)


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gguf_reader, "made_up_quiz", lambda: short_quiz(12))
    monkeypatch.setattr(gguf_reader, "FEWEST_FOUND", 0.4)  # a short quiz is easier


@pytest.fixture
def no_probing(monkeypatch: pytest.MonkeyPatch) -> None:
    def probe(*_: object) -> NoReturn:
        raise AssertionError("the head was sought again")

    monkeypatch.setattr(gguf_reader, "rank_heads", probe)


def most_looked_at(reader: Reader, question: str, said: Sequence[str]) -> int:
    keys = dict(enumerate(reader.read(said)))
    return int(np.argmax(attention(reader.look(question), keys, range(len(said)))))


def test_the_head_of_a_model_is_found_once_and_answers_questions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notices: list[str] = []
    with closing(open_gguf_reader(bundled_model_path(), tmp_path, notices.append)) as reader:
        name = reader.name
        assert most_looked_at(reader, "What is the name of the dog?", SAID) == 2
        assert most_looked_at(reader, "Which boat did she buy?", SAID) == 0
    assert len(notices) == 1
    assert name.startswith("reader-")  # keys of the bundled reader are never mistaken for its own
    monkeypatch.setattr(gguf_reader, "rank_heads", None)
    with closing(open_gguf_reader(bundled_model_path(), tmp_path, notices.append)) as again:
        assert again.name == name
    assert len(notices) == 1
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".gguf", ".json"]


def test_a_model_in_which_no_head_finds_anything_is_refused_and_not_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tiny_models.write_llama(tmp_path / "tiny.gguf")
    for _ in range(2):
        with pytest.raises(EngineUnavailable, match=r"no head of its lower half finds .* choose another model\.$"):
            open_gguf_reader(source, tmp_path / "cache")
        monkeypatch.setattr(gguf_reader, "rank_heads", None)


def test_a_model_without_attention_is_refused(tmp_path: Path) -> None:
    source = tiny_models.write_mamba(tmp_path / "tiny.gguf")
    with pytest.raises(EngineUnavailable, match="cannot be a reader"):
        open_gguf_reader(source, tmp_path / "cache")


def test_a_path_without_a_model_is_refused_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "text.gguf").write_text("Once upon a time")
    for name, reason in (("text.gguf", "is not a GGUF file"), ("missing.gguf", "No such file"), ("", "cannot be read")):
        with pytest.raises(EngineError, match=reason) as raised:
            open_gguf_reader(tmp_path / name, tmp_path / "cache")
        assert str(raised.value).count(". ") == 0


def test_a_search_for_the_head_that_is_stopped_leaves_nothing_behind(tmp_path: Path) -> None:
    source = tiny_models.write_llama(tmp_path / "tiny.gguf")
    with pytest.raises(EngineStopped):
        open_gguf_reader(source, tmp_path / "cache", is_stopped=lambda: True)
    assert list((tmp_path / "cache").iterdir()) == []


def with_known_head(source: Path, cache: Path, version: int = gguf_reader._PROBE_VERSION) -> Path:
    """Note a head of a tiny model, so that it can be a reader although it finds nothing."""
    head = LookingHead(layer=1, head=3, key_head=1, key_mean=(0.0,) * tiny_models.HEAD_SIZE, key_deviation=0.5)
    cache.mkdir(exist_ok=True)
    notes = ProbedModel(version, head, ReadingFrame("\n", "\n"))
    (cache / f"reader-{file_fingerprint(source)}.json").write_bytes(msgspec.json.encode(notes))
    return source


@pytest.mark.usefixtures("no_probing")
def test_keys_have_the_size_of_the_models_heads(tmp_path: Path) -> None:
    source = with_known_head(tiny_models.write_qwen3(tmp_path / "tiny.gguf"), tmp_path / "cache")
    with closing(open_gguf_reader(source, tmp_path / "cache")) as reader:
        (keys,) = reader.read(["some text"])
        assert keys.shape[1] == reader.key_values == tiny_models.HEAD_SIZE
        assert np.abs(keys).max() > 2
        assert reader.look("some").queries.shape[1] == tiny_models.HEAD_SIZE


@pytest.mark.usefixtures("no_probing")
def test_only_the_file_of_the_current_model_is_kept(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    for write in (tiny_models.write_llama, tiny_models.write_qwen3):
        source = with_known_head(write(tmp_path / f"{write.__name__}.gguf"), cache)
        open_gguf_reader(source, cache).close()
        assert len(list(cache.glob("*.gguf"))) == 1


def test_notes_of_another_version_or_damaged_ones_do_not_count(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    source = with_known_head(tiny_models.write_llama(tmp_path / "tiny.gguf"), cache, version=0)
    with pytest.raises(EngineUnavailable, match="no head"):
        open_gguf_reader(source, cache)
    (notes,) = cache.glob("*.json")
    notes.write_bytes(notes.read_bytes()[:-3])
    with pytest.raises(EngineUnavailable, match="no head"):
        open_gguf_reader(source, cache)
