"""The measuring code of `bench nextturn`, on tiny data with the real model."""

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from halo_weave.bench.conversations import read_conversations
from halo_weave.bench.nextturn import nextturn
from halo_weave.bench.nextturn.figures import figures, table
from halo_weave.bench.nextturn.nextturn import POLICIES, Expecting, NextTurnChoice, sample
from halo_weave.bench.policies.figures import HALO, TITLES
from halo_weave.bench.policies.stream import StreamedChat, StreamMemory, open_stream_memory, remember
from halo_weave.config import Settings
from halo_weave.engine.llamacpp.engine import LlamaEngine
from halo_weave.engine.settings import EngineSettings
from halo_weave.errors import InputError
from halo_weave.session.settings import WindowSettings

SMALL = Settings(engine=EngineSettings(context_tokens=512, threads=1))
BUDGET = 160
CHOICE = NextTurnChoice((BUDGET,), turns=2, replayed=100)
SAID = (
    ("The spare key of the lighthouse lies under the blue flowerpot.", "I will remember the flowerpot."),
    ("Bread needs flour, water, salt and patience.", "So it does, and a hot oven."),
    ("The ferry was late because of a broken crane.", "Cranes break in cold weather."),
    ("I painted the fence green and then yellow again.", "Yellow suits a fence."),
    ("My code word is quizzaciously purple zebra.", "I see."),
    ("Repeat my code word.", "Your code word is quizzaciously purple zebra."),
)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lines = [
        {
            "type": "turn",
            "conversation": "a",
            "id": f"{role}{number}",
            "role": role,
            "text": text,
            "time": f"2026-01-{number + 1:02d}T10:00:00",
        }
        for number, pair in enumerate(SAID)
        for role, text in zip(("user", "assistant"), pair, strict=True)
    ]
    path = tmp_path_factory.mktemp("data") / "tiny.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StreamMemory]:
    with closing(open_stream_memory(tmp_path_factory.mktemp("stream"), SMALL, lambda _: None)) as memory:
        yield memory


@pytest.fixture(scope="module")
def chat(memory: StreamMemory, llama_engine: LlamaEngine, data: Path) -> StreamedChat:
    (chat,) = remember(memory, llama_engine, read_conversations(data), 100, lambda _: None)
    return chat


def test_a_whole_run_tells_how_much_each_policy_lets_the_model_expect(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nextturn, "cache_folder", lambda: tmp_path)
    found = nextturn.run(SMALL, data, CHOICE)
    policies = found["budgets"][str(BUDGET)]
    assert found["turns"] == 2
    assert set(policies) == set(POLICIES)
    assert all(one["nats"] < 0 for one in policies.values())
    assert policies[HALO]["ahead"] is None
    mean, low, high = policies["fifo"]["ahead"]
    assert mean == pytest.approx(policies[HALO]["nats"] - policies["fifo"]["nats"])
    assert low <= mean <= high

    def refuse(*_: object) -> None:
        raise AssertionError("measured again")

    monkeypatch.setattr(Expecting, "outcome", refuse)
    assert nextturn.run(SMALL, data, CHOICE) == found


def test_a_reply_is_expected_more_if_what_it_repeats_is_in_the_context(
    memory: StreamMemory, chat: StreamedChat, llama_engine: LlamaEngine
) -> None:
    last = len(chat.tail) // 2 - 1
    with closing(llama_engine.open_context(attention=None)) as reading:
        expecting = Expecting(llama_engine, memory, WindowSettings(), reading)
        (with_it,) = expecting.outcome(chat, "fifo", BUDGET, {last}).rows
        (without,) = expecting.outcome(chat, "fifo", 16, {last}).rows
    assert with_it.tokens > without.tokens
    assert with_it.log_likelihood is not None
    assert without.log_likelihood is not None
    assert with_it.log_likelihood > without.log_likelihood + 0.5


@pytest.mark.parametrize("policy", POLICIES)
def test_no_context_exceeds_its_budget(
    memory: StreamMemory, chat: StreamedChat, llama_engine: LlamaEngine, policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nextturn, "expectation", lambda *_, **__: -1.0)
    places = {one.exchange for one in sample([chat], 0)}
    with closing(llama_engine.open_context(attention=None)) as reading:
        rows = Expecting(llama_engine, memory, WindowSettings(), reading).outcome(chat, policy, BUDGET, places).rows
    assert [row.question for row in rows] == sorted(places)
    assert all(0 < row.tokens <= BUDGET for row in rows)


def test_replies_are_sampled_evenly_from_the_second_half(chat: StreamedChat) -> None:
    everything = sample([chat], 0)
    count = len(chat.tail) // 2
    assert [one.exchange for one in everything] == list(range(count // 2, count))
    assert sample([chat], 2) == [everything[0], everything[-1]]
    assert sample([chat._replace(tail=chat.tail[1:2])], 0) == []


def test_differences_are_those_of_the_same_turns() -> None:
    likelihoods = {"512": {"fifo": [-2.0, -3.0], HALO: [-1.5, -2.5]}}
    found = figures({"turns": 2}, likelihoods)
    assert found["budgets"]["512"]["fifo"]["nats"] == -2.5
    assert found["budgets"]["512"]["fifo"]["ahead"] == pytest.approx((0.5, 0.5, 0.5))
    assert any(TITLES["fifo"] in line and "+0.500" in line for line in table(found))


def test_a_model_elsewhere_is_refused_in_one_sentence(data: Path) -> None:
    with pytest.raises(InputError, match="only llamacpp"):
        nextturn.run(Settings(engine=EngineSettings(kind="echo")), data, CHOICE)
