"""The measuring code of `bench brightness`."""

import json

import pytest

from halo_weave import cli
from halo_weave.bench import brightness as bench
from halo_weave.config import Settings
from halo_weave.engine.settings import EngineSettings
from halo_weave.weave.brightness import ScorerSettings, problem
from support.sights import SCORERS


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"LIVING_TOKENS": 600, "CONTEXT_TOKENS": 100, "STEPS": 20, "MODEL_STEPS": 4}.items():
        monkeypatch.setattr(bench, name, value)


def test_all_figures_are_there_and_that_of_the_chosen_scorer_stands_first() -> None:
    figures = bench.run(Settings(engine=EngineSettings(kind="echo"), brightness=ScorerSettings(scorer="cumulative")))
    assert figures["scorer"] == "cumulative"
    assert list(figures["scorers"]) == list(SCORERS)
    assert figures["step_ms_32k"] == figures["scorers"]["cumulative"]["step_ms_32k"] > 0
    assert figures["share_of_step"] > 0


def test_the_made_up_steps_pass_the_check_so_that_scoring_is_measured() -> None:
    for seen in bench._sights(600):
        assert problem(seen.attention, 600) is None
        assert 0 < seen.scored.sum() < 600


def test_the_command_prints_one_json_object_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", "brightness", "--json", "--set", "engine.kind=echo"]) == 0
    assert json.loads(capsys.readouterr().out)["step_ms_32k"] > 0
