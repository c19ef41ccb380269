"""The measuring code of `bench heads`."""

import json
from pathlib import Path

import pytest

from bench.test_recall import ROWS, written
from halo_weave import cli
from halo_weave.bench import heads
from halo_weave.bench.conversations import read_conversations
from halo_weave.engine.reader.head_ranking import RankedHead
from halo_weave.engine.reader.looking_head import LookingHead
from halo_weave.paths import bundled_model_path
from support import tiny_models
from support.quizzes import short_quiz


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heads, "made_up_quiz", lambda: short_quiz(3))


def test_heads_are_ranked_in_the_quiz_and_on_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = written(tmp_path / "talk.jsonl", ROWS)
    model = tiny_models.write_llama(tmp_path / "tiny.gguf")
    assert cli.main(["bench", "heads", "--json", "--model", str(model), "--data", str(data)]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["model"] == "tiny.gguf"
    assert figures["chosen"] in figures["heads"]
    assert all(0 < one["made_up"] <= 1 and 0 < one["data"] <= 1 for one in figures["heads"].values())
    assert -1 <= figures["rank_correlation"] <= 1
    assert 1 <= figures["rank_of_chosen_on_data"] <= 8


def test_a_quiz_about_a_conversation_asks_what_its_turns_answer(tmp_path: Path) -> None:
    conversations = read_conversations(written(tmp_path / "talk.jsonl", ROWS))
    quiz = heads.quiz_about("b", conversations, bundled_model_path())
    assert quiz.passages[0].startswith("Cy: The ferry")
    assert [(question.text, set(question.answers)) for question in quiz.questions] == [("Why was the ferry late?", {0})]


def test_the_best_heads_of_both_are_listed_and_compared() -> None:
    ranked = [RankedHead(LookingHead(layer, 0, 0, (), 1.0), 0.9 - layer / 10) for layer in range(3)]
    figures = heads.figures(ranked, {"0.0": 0.1, "1.0": 0.2, "2.0": 0.3})
    assert figures["chosen"] == "0.0"
    assert figures["rank_of_chosen_on_data"] == 3
    assert figures["rank_correlation"] == pytest.approx(-1)
    assert figures["heads"]["1.0"] == {"made_up": pytest.approx(0.8), "data": 0.2}


def test_a_model_on_a_server_has_no_heads_to_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", "heads", "--set", "engine.kind=echo"]) == 2
    assert "only in this process" in capsys.readouterr().err
