"""The probe on the real bundled model and on tiny ones: it finds the heads that answer questions."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from halo_weave.engine.reader.bundled_head import BUNDLED_HEAD
from halo_weave.engine.reader.head_ranking import chosen_head
from halo_weave.engine.reader.lower_half import LowerHalf, lower_half
from halo_weave.engine.reader.probe import rank_heads
from halo_weave.engine.reader.quiz import Quiz, QuizQuestion
from halo_weave.engine.reader.reading_frame import BUNDLED_FRAME, ReadingFrame
from halo_weave.errors import EngineUnavailable
from halo_weave.paths import bundled_model_path
from support import tiny_models
from support.quizzes import short_quiz

PLAIN = ReadingFrame("\n", "\n")


@pytest.fixture(scope="module")
def half(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LowerHalf]:
    with lower_half(bundled_model_path(), tmp_path_factory.mktemp("halves")) as half:
        yield half


def test_the_bundled_head_is_among_the_best_of_its_model(half: LowerHalf) -> None:
    ranked = rank_heads(half.path, half.frame, short_quiz(20))
    assert len(ranked) == 15 * 9
    assert str(BUNDLED_HEAD) in [str(one.head) for one in ranked[:5]]
    found = next(one for one in ranked if str(one.head) == str(BUNDLED_HEAD))
    assert found.head.key_head == BUNDLED_HEAD.key_head
    assert np.abs(np.subtract(found.head.key_mean, BUNDLED_HEAD.key_mean)).mean() < 0.2 * BUNDLED_HEAD.key_deviation
    assert found.head.key_deviation == pytest.approx(BUNDLED_HEAD.key_deviation, rel=0.1)
    assert ranked[0].reciprocal_rank > 3 * ranked[len(ranked) // 2].reciprocal_rank


def test_the_lower_half_is_framed_by_the_models_own_template(half: LowerHalf) -> None:
    assert half.frame == BUNDLED_FRAME


def test_a_passage_longer_than_a_block_is_read_as_far_as_a_block_goes(half: LowerHalf) -> None:
    passages = ("The ferry was late. " * 400, "My cat is called Miso.", "")
    quiz = Quiz(passages, (QuizQuestion("What is the name of the cat?", frozenset([1])),))
    assert chosen_head(rank_heads(half.path, half.frame, quiz)).reciprocal_rank == 1


def test_heads_of_other_architectures_are_ranked_too(tmp_path: Path) -> None:
    quiz = short_quiz(2)
    for write, layers in (
        (tiny_models.write_llama, (0, 1, 2, 3)),
        (tiny_models.write_gemma2, (0, 1, 2, 3)),
        (tiny_models.write_qwen3, (0, 1, 2, 3)),
        (tiny_models.write_lfm2, (1, 3)),
    ):
        ranked = rank_heads(write(tmp_path / "tiny.gguf"), PLAIN, quiz)
        found = sorted((one.head.layer, one.head.head, one.head.key_head) for one in ranked)
        assert found == [(layer, head, head // 2) for layer in layers for head in range(tiny_models.HEADS)]


def test_a_model_without_attention_has_no_heads(tmp_path: Path) -> None:
    assert rank_heads(tiny_models.write_mamba(tmp_path / "tiny.gguf"), PLAIN, short_quiz(2)) == []


def test_the_lower_half_has_half_of_the_layers_and_is_removed_afterwards(tmp_path: Path) -> None:
    source = tiny_models.write_llama_with_template(tmp_path / "tiny.gguf")
    with lower_half(source, tmp_path / "halves") as half:
        ranked = rank_heads(half.path, half.frame, short_quiz(2))
        assert {one.head.layer for one in ranked} == {0, 1}
        assert half.frame.opening == "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\n"
    assert list((tmp_path / "halves").iterdir()) == []


def test_what_a_killed_process_left_behind_is_removed_later(tmp_path: Path) -> None:
    source = tiny_models.write_llama(tmp_path / "tiny.gguf")
    old, recent = tmp_path / "cache" / ".lower-half-old", tmp_path / "cache" / ".lower-half-recent"
    for folder in (old, recent):
        folder.mkdir(parents=True)
        (folder / "tiny.gguf").write_bytes(b"GGUF")
    os.utime(old, (0, 0))
    with lower_half(source, tmp_path / "cache"):
        pass
    assert list((tmp_path / "cache").iterdir()) == [recent]


def test_layers_of_a_model_with_different_layers_are_cut_with_their_settings(tmp_path: Path) -> None:
    with lower_half(tiny_models.write_lfm2(tmp_path / "tiny.gguf"), tmp_path) as half:
        ranked = rank_heads(half.path, half.frame, short_quiz(2))
        assert {one.head.layer for one in ranked} == {1}


def test_a_file_that_is_no_model_is_refused_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "text.gguf").write_text("Once upon a time")
    for name, reason in (("text.gguf", "is not a GGUF file"), ("missing.gguf", "cannot be read")):
        with pytest.raises(EngineUnavailable, match=reason), lower_half(tmp_path / name, tmp_path):
            pass
