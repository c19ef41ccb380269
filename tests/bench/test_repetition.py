"""`bench repetition`, and that the bundled model does not repeat itself with the settings that a new user gets."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_weave import cli
from halo_weave.bench import repetition as bench
from halo_weave.config import Settings
from halo_weave.engine.llamacpp.engine import LlamaEngine

words = st.lists(st.integers(0, 3), max_size=40)


@given(words, st.lists(st.integers(4, 99), min_size=6, max_size=20), st.integers(2, 5), words)
def test_a_phrase_that_is_said_again_is_found_with_its_length_and_count(
    before: list[int], phrase: list[int], times: int, after: list[int]
) -> None:
    found = bench.repetition([*before, *phrase * times, *after])
    assert found.longest >= len(phrase) * (times - 1)
    assert found.most >= times


def test_a_reply_without_repetition_has_none() -> None:
    assert bench.repetition(range(100)) == (0, 1)
    assert bench.repetition([]) == (0, 0)


@pytest.mark.parametrize("seed", [1, 2])
def test_the_bundled_model_does_not_say_the_same_thing_over_and_over(
    llama_engine: LlamaEngine, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(bench, "REPLY_TOKENS", 200)
    generation = Settings().for_model(llama_engine.facts.name).generation
    found = [bench.repetition(reply) for reply in bench.replies(llama_engine, bench.CHATS[2], generation, seed)]
    assert max(one.longest for one in found) <= 16
    assert max(one.most for one in found) <= 4


def test_the_command_compares_the_general_defaults_with_the_settings_in_use(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "SEEDS", (1,))
    chosen = ("--set", "engine.kind=echo", "--set", "generation.phrase_penalty=0.5")
    assert cli.main(["bench", "repetition", "--json", *chosen]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["replies"] == sum(map(len, bench.CHATS))
    assert (figures["general_defaults"]["phrase_penalty"], figures["in_use"]["phrase_penalty"]) == (0.0, 0.5)
