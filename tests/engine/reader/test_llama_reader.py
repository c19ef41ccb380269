"""The reader on the real bundled model."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest

from halo_weave.engine.llamacpp.computation import Computation
from halo_weave.engine.llamacpp.model import Model
from halo_weave.engine.reader.bundled_head import BUNDLED_HEAD
from halo_weave.engine.reader.llama_reader import LlamaReader, open_bundled_reader
from halo_weave.engine.reader.looking_head import LookingHead
from halo_weave.engine.reader.protocol import LARGEST_VALUE, SMALLEST_VALUE
from halo_weave.engine.reader.reading_frame import BUNDLED_FRAME
from halo_weave.errors import EngineError, EngineUnavailable
from halo_weave.memory.attention.looking import attention, looked_at
from halo_weave.paths import bundled_model_path, cache_folder

SAID = (
    "Ines: I bought a red canoe in Bergen last summer, and it leaks.",
    "Tom: We had soup for lunch again. The bread was good, though.",
    "Ines: My sister's dog is called Biscuit and loves to swim.",
    "Tom: The train to Graz was late, so I read the whole newspaper.",
)
ASKED = {"What is the name of the dog?": 2, "Which boat did she buy?": 0, "Why was he late for the journey?": 3}


@pytest.fixture(scope="module")
def reader() -> Iterator[LlamaReader]:
    with closing(open_bundled_reader(bundled_model_path(), cache_folder())) as reader:
        yield reader


@pytest.mark.parametrize(("question", "answer"), ASKED.items())
def test_a_question_looks_most_at_the_text_that_answers_it(reader: LlamaReader, question: str, answer: int) -> None:
    keys = dict(enumerate(reader.read(SAID)))
    assert int(np.argmax(attention(reader.look(question), keys, range(len(SAID))))) == answer


def test_the_words_that_a_question_looks_at_are_words_of_the_text(reader: LlamaReader) -> None:
    text = SAID[2]
    (keys,) = reader.read([text])
    spans = looked_at(reader.look("What is the name of the dog?"), keys, reader.pieces(text))
    words = [text[start:end] for start, end in spans]
    assert "dog" in words
    assert all(word.strip() == word and word for word in words)


def test_every_token_of_a_text_has_a_key_and_the_pieces_join_to_the_text(reader: LlamaReader) -> None:
    for text in ("Hello", "Grüße 世界 🦉, twice.", "a\n\nb", "x" * 5_000):
        (keys,) = reader.read([text])
        assert keys.shape == (len(reader.pieces(text)), reader.key_values)
        assert "".join(reader.pieces(text)) == text


def test_the_values_of_keys_use_all_of_their_four_bits_and_no_more(reader: LlamaReader) -> None:
    keys = np.concatenate(reader.read(SAID))
    assert (keys.min(), keys.max()) == (SMALLEST_VALUE, LARGEST_VALUE)
    assert np.isin(keys, [SMALLEST_VALUE, LARGEST_VALUE]).mean() < 0.05


def test_a_key_depends_on_what_was_said_before_but_not_on_what_follows(reader: LlamaReader) -> None:
    (alone,) = reader.read([SAID[2]])
    (after_something,) = reader.read([SAID[2]], before=SAID[0])
    first, _ = reader.read([SAID[2], SAID[3]])
    assert not np.array_equal(alone, after_something)
    assert np.abs(first.astype(int) - alone).max() <= 1  # batches of another size round differently


def test_a_text_of_several_blocks_is_read_whole(reader: LlamaReader) -> None:
    long = " ".join(f"The {number}th lantern hangs on the wall." for number in range(150))
    (keys,) = reader.read([long])
    assert len(keys) == len(reader.pieces(long)) > 768
    assert np.any(keys, axis=1).all()


def test_nothing_is_looked_for_by_an_empty_question(reader: LlamaReader) -> None:
    look = reader.look("")
    assert look.words == ()
    assert np.isnan(attention(look, dict(enumerate(reader.read(SAID))), [0, 1])).all()


def test_the_weights_of_a_long_question_add_up_to_one(reader: LlamaReader) -> None:
    look = reader.look("What about the boat? " * 300)
    assert len(look.words) == len(look.queries) == len(look.weights)
    assert look.weights.sum() == pytest.approx(1, abs=1e-4)


def test_the_file_of_the_reader_has_just_the_layers_that_are_needed_and_is_made_once(tmp_path: Path) -> None:
    made: list[str] = []
    with closing(open_bundled_reader(bundled_model_path(), tmp_path, made.append)) as first:
        name = first.name
    with closing(open_bundled_reader(bundled_model_path(), tmp_path, made.append)) as second:
        assert second.name == name
    assert len(made) == 1
    (path,) = tmp_path.iterdir()
    layers = {tensor.name.split(".")[1] for tensor in gguf.GGUFReader(path).tensors if tensor.name.startswith("blk.")}
    assert layers == {str(number) for number in range(BUNDLED_HEAD.layer + 1)}


def test_a_damaged_file_of_the_reader_is_made_again(tmp_path: Path) -> None:
    open_bundled_reader(bundled_model_path(), tmp_path).close()
    (path,) = tmp_path.iterdir()
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    open_bundled_reader(bundled_model_path(), tmp_path).close()
    assert path.read_bytes() == content


def test_a_closed_reader_says_so() -> None:
    reader = open_bundled_reader(bundled_model_path(), cache_folder())
    reader.close()
    reader.close()
    with pytest.raises(EngineUnavailable, match="has been closed"):
        reader.look("Who?")
    with pytest.raises(EngineUnavailable, match="has been closed"):
        reader.read(["text"])


def test_a_reader_that_fails_to_open_leaves_nothing_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_bundled_reader(bundled_model_path(), tmp_path).close()
    (path,) = tmp_path.iterdir()
    opened: list[Computation | Model] = []
    closed: list[Computation | Model] = []
    for kind in (Computation, Model):
        _note_calls(monkeypatch, kind, "__init__", opened)
        _note_calls(monkeypatch, kind, "close", closed)
    with pytest.raises(EngineError, match="no queries in layer 40"):
        LlamaReader(
            path,
            "broken",
            LookingHead(layer=40, head=0, key_head=0, key_mean=(0.0,) * 64, key_deviation=1.0),
            BUNDLED_FRAME,
        )
    assert [type(one) for one in opened] == [Model, Computation, Computation]
    assert closed == opened[::-1]


def _note_calls(monkeypatch: pytest.MonkeyPatch, kind: type[Any], method: str, noted: list[Any]) -> None:
    original = getattr(kind, method)

    def noting(self: Any, *arguments: Any, **named: Any) -> Any:
        noted.append(self)
        return original(self, *arguments, **named)

    monkeypatch.setattr(kind, method, noting)
