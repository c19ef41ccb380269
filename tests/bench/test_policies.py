"""The measuring code of `bench policies`, on tiny data with known answers."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from halo_weave.bench import plots
from halo_weave.bench.conversations import Conversations, Question, Turn, read_conversations
from halo_weave.bench.plots import Estimate
from halo_weave.bench.policies import policies
from halo_weave.bench.policies.asking import KEEPING, Workshop
from halo_weave.bench.policies.counted_rows import CountedRows
from halo_weave.bench.policies.figures import (
    BUDGETED,
    CEILING,
    HALO,
    NEED_MODEL,
    REREAD,
    TITLES,
    MeasuredPolicies,
    figures,
    gap_closed,
    table,
)
from halo_weave.bench.policies.outcomes import OutcomeRow, PolicyOutcome
from halo_weave.bench.policies.pace import Pace, longest_first
from halo_weave.bench.policies.policies import Choice
from halo_weave.bench.policies.retrieval import Ceiling
from halo_weave.bench.policies.stream import StreamedChat, open_stream_memory, remember
from halo_weave.bench.policies.window import PolicyWindow, exchanges
from halo_weave.bench.policies.workers import PolicyRun, batches
from halo_weave.config import Settings
from halo_weave.engine.llamacpp.context import LlamaContext
from halo_weave.engine.llamacpp.engine import LlamaEngine
from halo_weave.engine.protocol import GenerationSettings, Placed
from halo_weave.engine.settings import EngineSettings
from halo_weave.errors import InputError
from halo_weave.memory.memory import Memory
from halo_weave.memory.search.search import Hit
from halo_weave.session.settings import WindowSettings
from support.windows import brightness, living

BUDGET, REPLAYED = 200, 120
WHOLE = Choice((BUDGET,), questions=2, replayed=REPLAYED)
"""One choice for all whole runs, so that cached outcomes are reused."""
SMALL = Settings(engine=EngineSettings(context_tokens=512, threads=1))
FACT = "Ann: The spare key of the lighthouse lies under the blue flowerpot."
LAST = "Ann: My sister Tilda bought seven goats in Lima."
_SMALL_TALK = (
    ("Ann: Bread needs flour, water, salt and a lot of patience.", "Bo: So it does, and a hot oven."),
    ("Ann: The ferry was late because of a broken crane.", "Bo: Cranes break in cold weather."),
    ("Ann: I painted the fence green and then yellow again.", "Bo: Yellow suits a fence."),
    ("Ann: Our choir sings in the old barn every Friday.", "Bo: A barn has a fine echo."),
)


def rows() -> list[dict[str, object]]:
    said = [(FACT, "Bo: I will remember the flowerpot."), *_SMALL_TALK * 2, (LAST, "Bo: Seven goats are many goats.")]
    turns: list[dict[str, object]] = []
    for number, pair in enumerate(said):
        for role, text in zip(("user", "assistant"), pair, strict=True):
            one = {"type": "turn", "conversation": "a", "id": f"{role}{number}", "role": role, "text": text}
            turns.append({**one, "time": f"2026-01-{number + 1:02d}T10:00:00"})
    far = {"text": "Where is the spare key of the lighthouse?", "answer": "under the blue flowerpot"}
    near = {"text": "What did Tilda buy in Lima?", "answer": "seven goats"}
    return [
        *turns,
        {"type": "question", "conversation": "a", **far, "evidence": ["user0"], "category": "far"},
        {"type": "question", "conversation": "a", **near, "evidence": ["user9"], "category": "near"},
        {"type": "question", "conversation": "a", "text": "Who knows?", "answer": None, "evidence": ["user1"]},
    ]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "tiny.jsonl"
    path.write_text("\n".join(map(json.dumps, rows())), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory, llama_engine: LlamaEngine) -> Iterator[Workshop]:
    memory = open_stream_memory(tmp_path_factory.mktemp("stream"), SMALL, lambda _: None)
    with closing(memory), closing(llama_engine.open_context(attention=None)) as reading:
        yield Workshop(llama_engine, memory, WindowSettings(), reading)


@pytest.fixture(scope="module")
def chat(workshop: Workshop, data: Path) -> StreamedChat:
    (chat,) = remember(workshop.memory, workshop.engine, read_conversations(data), REPLAYED, lambda _: None)
    return chat


def opened(workshop: Workshop, chat: StreamedChat, policy: str, *, is_read: bool = False) -> PolicyWindow:
    keeping = KEEPING[policy]
    return PolicyWindow(workshop.engine, workshop.memory, workshop.settings, chat, keeping, BUDGET, is_read=is_read)


def test_a_whole_run_tells_what_each_policy_has_in_its_context(data: Path, tmp_path: Path) -> None:
    """Policies with resurrection find what was said long ago; those that keep the newest have what was said last."""
    details = tmp_path / "details.jsonl"
    found = policies.run(SMALL, data, WHOLE, details=details, plot=tmp_path / "plot.svg")
    of_question = {
        (line["policy"], line["category"]): line for line in map(json.loads, details.read_text().splitlines())
    }
    assert {name for name, _ in of_question} == set(TITLES)
    for policy in ("fifo", "sinks", "h2o"):
        assert of_question[policy, "far"]["evidence"] == 0
    for policy in ("fifo", "sinks", HALO, REREAD, CEILING):
        assert of_question[policy, "near"]["evidence"] == 100
    for policy in ("fifo_return", "random_return", "rag_end", "rag_time", HALO, CEILING):
        assert of_question[policy, "far"]["evidence"] == 100
    sizes = {name: line["context_tokens"] for (name, _), line in of_question.items() if name != CEILING}
    assert {name: tokens for name, tokens in sizes.items() if tokens > BUDGET} == {}

    budget = found["budgets"][str(BUDGET)]
    assert (found["questions"], found["questions_answered"]) == (3, 2)
    assert budget["fifo"]["gap_closed"] == pytest.approx(0)
    assert budget[CEILING]["gap_closed"] == pytest.approx(100)
    # Counted or reported by the engine: without resurrection, only new tokens are decoded.
    assert budget["fifo"]["decoded_per_turn"] == pytest.approx(budget["h2o"]["decoded_per_turn"], abs=3)
    assert budget[HALO]["decoded_per_turn"] < budget["rag_time"]["decoded_per_turn"]
    assert found["ahead_of"][str(BUDGET)]["fifo"]["evidence"][0] == pytest.approx(
        budget[HALO]["evidence"] - budget["fifo"]["evidence"]
    )
    assert len(list(table(found))) > len(TITLES)
    assert (tmp_path / "plot.svg").read_text().startswith("<?xml")

    def refuse(*_: object) -> None:
        raise AssertionError("measured again")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(policies, "measured", refuse)
        assert figures(policies.measure(SMALL, data, WHOLE)) == found


def test_a_process_that_measures_ends_with_the_one_that_started_it() -> None:
    """Even if the parent was killed: their shared output closes only when both have exited."""
    script = (
        "import multiprocessing, time\n"
        "from halo_weave.bench.policies import workers\n"
        "multiprocessing.get_context('spawn').Process(target=workers._end_with_parent).start()\n"
        "print('started', flush=True)\n"
        "time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "started\n"
        parent.kill()
        assert parent.communicate(timeout=60)[0] == ""


def test_several_processes_find_what_one_finds(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = list[str]()
    alone = policies.run(SMALL, data, WHOLE)
    monkeypatch.setattr(policies, "cache_folder", lambda: tmp_path)
    assert policies.run(SMALL, data, WHOLE._replace(processes=2), on_progress=told.append) == alone
    assert sum(" of 9: a: " in line for line in told) == 9
    assert any("2 questions" in line for line in told)


def test_what_is_measured_is_told_with_the_time_that_is_left() -> None:
    """Jobs are weighted by how much the model has to read for them."""
    jobs, now = [PolicyRun("a", name, 512, puts=True) for name in ("h2o", HALO, "rag_time")], 100.0
    pace = Pace(jobs, asked={"a": 10}, put={"a": 2}, replayed=4096, context=4096, clock=lambda: now)
    costs = [pace.cost(job) for job in jobs]
    assert longest_first(jobs, pace) == [jobs[1], jobs[0], jobs[2]]
    now += costs[0]
    assert pace.done(jobs[0]) == f"1 of 3: a: h2o, 512 tokens · about {sum(costs[1:]) / 60:.0f} min left"
    now += 1
    assert "2 of 3" in pace.done(jobs[1])
    assert pace.done(jobs[2]) == "3 of 3: a: rag_time, 512 tokens"


def test_all_jobs_have_an_expected_cost() -> None:
    jobs = [PolicyRun("a", policy, 512, puts=True) for policy in BUDGETED if policy != REREAD]
    jobs += [PolicyRun("a", CEILING, 0, puts=True)]
    for put in ({}, {"a": 3}):
        pace = Pace(jobs, asked={"a": 10}, put=put, replayed=1000, context=4096)
        assert min(map(pace.cost, jobs)) > 0


def test_without_the_model_its_reading_is_counted_as_the_engine_would_report_it(
    workshop: Workshop, chat: StreamedChat
) -> None:
    """The engine also decodes the last token of a context again, and runs of fewer than four tokens."""
    decoded = {}
    for is_read in (True, False):
        with closing(opened(workshop, chat, HALO, is_read=is_read)) as lived:
            lived.live_through()
            decoded[is_read] = lived.decoded / lived.exchanges
    assert decoded[False] == pytest.approx(decoded[True], abs=8)


def test_rows_of_text_that_left_are_kept_up_to_a_limit() -> None:
    first, second, third = ([Placed(10 * n + place, place) for place in range(4)] for n in range(3))
    rows = CountedRows(kept_tokens=4)
    assert rows.decoded([*first, *second]) == 8
    assert rows.decoded([*first, *third]) == 4
    assert rows.decoded([*first, *second, *third]) == 0
    assert rows.decoded(third) == 0  # of the eight tokens that leave, four are kept
    assert rows.decoded([*first, *second]) == 4


def test_evidence_is_measured_without_the_model(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the policy whose context depends on attention is left out, and what only an answer would tell apart."""
    monkeypatch.setattr(policies, "cache_folder", lambda: tmp_path)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the model was run")

    monkeypatch.setattr(LlamaContext, "sync", refuse)
    found = policies.run(SMALL, data, WHOLE._replace(questions=0))["budgets"][str(BUDGET)]
    assert set(found) == set(TITLES) - NEED_MODEL
    assert found[HALO]["evidence"] > found["fifo"]["evidence"]
    assert found[HALO]["decoded_per_turn"] < found["rag_time"]["decoded_per_turn"]


def test_one_process_searches_for_all_policies_of_a_conversation() -> None:
    jobs = [PolicyRun(name, policy, 512, puts=False) for policy in ("fifo", HALO) for name in "ab"]
    assert batches(jobs, is_model_asked=True) == [[job] for job in jobs]
    assert batches(jobs, is_model_asked=False) == [[jobs[0], jobs[2]], [jobs[1], jobs[3]]]


def test_a_text_is_searched_once_for_each_time(
    workshop: Workshop, chat: StreamedChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All policies and budgets share search results, and all results share their chunks."""
    memory, searched = workshop.memory, list[str]()
    search = Memory.search

    def counted(self: Memory, text: str, **others: Any) -> list[Hit]:
        searched.append(text)
        return search(self, text, **others)

    monkeypatch.setattr(Memory, "search", counted)
    for until in (chat.end, chat.tail[-2].start, chat.end):
        memory.until = until
        hits = memory.search("Who plays chess with a bishop?")
        assert all(memory.chunk(hit.chunk.key) == (hit.id, hit.chunk) for hit in hits)
    assert len(searched) == 2


def test_nothing_is_found_that_was_not_said_yet(workshop: Workshop, chat: StreamedChat) -> None:
    memory = workshop.memory
    memory.until = chat.end
    assert any(hit.chunk.text == LAST for hit in memory.search("What did Tilda buy in Lima?"))
    memory.until = chat.tail[-2].start
    hits = memory.search("What did Tilda buy in Lima?")
    assert hits
    assert all(hit.chunk.text != LAST for hit in hits)


@pytest.mark.parametrize("policy", ["fifo_return", "random_return", HALO])
def test_a_question_leaves_the_window_as_it_was(workshop: Workshop, chat: StreamedChat, policy: str) -> None:
    with closing(opened(workshop, chat, policy)) as lived:
        lived.live_through()
        window = lived.window

        def state() -> object:
            return living(window), brightness(window), dict(window.life.burial_log)

        before = state()
        with lived.asked("Where is the spare key of the lighthouse?") as layout:
            assert any("flowerpot" in span.chunk.text for span in layout.spans)
            assert len(layout.placed) <= BUDGET
            assert state() != before
        assert state() == before


def test_the_share_of_evidence_is_that_of_its_tokens(chat: StreamedChat) -> None:
    far, near, _ = chat.asked
    assert far.percent_in(set()) == 0
    assert far.percent_in(far.evidence) == 100
    both = far._replace(evidence={**far.evidence, **near.evidence})
    tokens = sum(far.evidence.values()), sum(near.evidence.values())
    assert both.percent_in(far.evidence) == pytest.approx(100 * tokens[0] / sum(tokens))


def test_the_ceiling_is_the_whole_conversation_or_what_is_nearest_to_the_evidence(
    workshop: Workshop, chat: StreamedChat
) -> None:
    with closing(opened(workshop, chat, "fifo")) as lived:
        ceiling, far = Ceiling(lived.window, chat), chat.asked[0]
        whole = ceiling.around(far, 10_000)
        assert whole.keys == {key for turn in chat.turns for key in turn}
        part = ceiling.around(far, 150)
        assert len(part.placed) <= 150
        assert part.keys == {key for turn in chat.turns[: len(part.keys)] for key in turn}
        assert far.percent_in(part.keys) == 100


def test_exchanges_are_messages_with_their_replies(chat: StreamedChat) -> None:
    message, reply, other, _ = chat.tail[:4]
    assert list(exchanges([message, reply, other])) == [(message, reply), (other, None)]
    assert list(exchanges([message, other, reply])) == [(message, None), (other, reply)]
    assert list(exchanges([reply])) == [(None, reply)]


def test_a_turn_that_no_window_would_take_is_left_to_the_memory(workshop: Workshop, chat: StreamedChat) -> None:
    message, reply = chat.tail[:2]
    huge = reply._replace(chunks=reply.chunks * 1000)
    with closing(opened(workshop, chat._replace(tail=[message, huge]), "fifo")) as lived:
        lived.live_through()
        assert {key for key, _ in living(lived.window)} == {chunk.key for chunk in message.chunks}


def test_questions_are_sampled_evenly_from_those_that_can_be_answered() -> None:
    turns = [Turn("a", "1", "user", "x")]
    questions = [Question("a", str(n), ("1",), answer=None if n % 2 else "yes") for n in range(20)]
    questions += [Question("a", "no evidence", (), answer="yes"), Question("a", "unknown turn", ("9",), answer="yes")]
    conversations, chats = Conversations(turns, questions), ["a"]
    assert policies.sample(conversations, chats, 2) == {0, 18}
    assert policies.sample(conversations, chats, 3) == {0, 8, 18}
    assert policies.sample(conversations, chats, 100) == set(range(0, 20, 2))
    assert policies.sample(conversations, ["b"], 100) == set()


def test_some_chats_are_spread_evenly_over_those_with_questions() -> None:
    turns = [Turn(name, "1", "user", "x") for name in "abcdef"]
    questions = [Question(name, "x", ("1",)) for name in "fedcb"] + [Question("a", "no evidence")]
    conversations = Conversations(turns, questions)
    assert policies.chosen_chats(conversations, 0) == list("bcdef")
    assert policies.chosen_chats(conversations, 3) == list("bdf")
    assert policies.chosen_chats(conversations, 99) == list("bcdef")


def test_the_gap_closed_is_the_way_from_floor_to_ceiling() -> None:
    floor, ceiling = np.array([-4.0, -3.0, -5.0]), np.array([-2.0, -1.0, -3.0])
    closed, ends = gap_closed(floor, ceiling, floor + 0.5)
    assert closed == pytest.approx(25)
    assert ends == pytest.approx((25, 25))
    assert gap_closed(floor, ceiling, ceiling + 1)[0] == pytest.approx(150)
    assert gap_closed(ceiling, floor, floor) == (None, None)
    doubtful = np.array([10.0, -5.0, -4.0])
    assert gap_closed(np.zeros(3), doubtful, np.ones(3))[1] is None


def test_a_budget_at_which_the_model_was_not_asked_has_evidence_but_no_gap() -> None:
    def outcome(likelihood: float | None) -> PolicyOutcome:
        return PolicyOutcome([OutcomeRow(0, 50.0, 9, likelihood), OutcomeRow(1, 60.0, 9)], 3.0)

    asked_at = {512: None, 1024: -1.0}
    outcomes = {("a", name, budget): outcome(asked) for budget, asked in asked_at.items() for name in BUDGETED}
    outcomes["a", "fifo", 1024] = outcome(-2.0)
    outcomes["a", CEILING, 0] = outcome(0.0)
    questions = [Question("a", "one", ("1",)), Question("a", "two", ("1",))]
    found = figures(MeasuredPolicies({}, questions, tuple(asked_at), outcomes))
    assert (found["questions"], found["questions_answered"]) == (2, 1)
    assert [found["budgets"][budget][HALO]["gap_closed"] for budget in ("512", "1024")] == [None, 50]
    assert found["budgets"]["512"][HALO]["evidence"] == 55
    assert found["ahead_of"]["512"][CEILING]["log_likelihood"] is None
    assert list(table(found))


def test_reading_a_reply_gives_the_attention_with_which_it_would_be_written(llama_engine: LlamaEngine) -> None:
    ids = [token.id for token in llama_engine.tokenize("The cat sat on the warm router because it")]
    prompt = [Placed(place, token) for place, token in enumerate(ids)]
    with closing(llama_engine.open_context()) as writing, closing(llama_engine.open_context()) as reading:
        writing.sync(prompt)
        steps = list(writing.generate(GenerationSettings(temperature=0, max_tokens=6)))
        reply = [Placed(len(ids) + place, step.token_id or 0) for place, step in enumerate(steps)]
        reading.sync(prompt[:-1])
        report = reading.sync([*prompt, *reply[:-1]], observe=True)
        assert report.reading is not None
        for place, (step, row) in enumerate(zip(steps, report.reading, strict=True)):
            assert step.attention is not None
            np.testing.assert_allclose(row[: len(ids) + place], step.attention, atol=5e-3)


def test_log_probabilities_of_given_tokens_are_those_of_reading_them_one_by_one(llama_engine: LlamaEngine) -> None:
    ids = [token.id for token in llama_engine.tokenize("The cat sat on the warm router because it was winter.")]
    placed = [Placed(place, token) for place, token in enumerate(ids)]
    with closing(llama_engine.open_context()) as context:
        expected = []
        for count in range(5, len(ids)):
            context.sync(placed[:count])
            logits = context.logits().astype(np.float64)
            expected.append(logits[ids[count]] - np.log(np.exp(logits - logits.max()).sum()) - logits.max())
        context.sync(placed[:5])
        np.testing.assert_allclose(context.log_probabilities(ids[5:]), expected, atol=0.2)
        assert context.tokens == placed[:5]


def test_a_plot_is_saved_as_its_suffix_says_or_as_both(tmp_path: Path) -> None:
    lines = {"one": {512: Estimate(10, 8, 12), 1024: Estimate(20, 18, 22)}}
    figure = plots.evidence_against_budget(lines, "title")
    assert [path.name for path in plots.save(figure, tmp_path / "both")] == ["both.png", "both.svg"]
    assert (tmp_path / "both.png").read_bytes().startswith(b"\x89PNG")
    assert plots.save(figure, tmp_path / "one.svg") == [tmp_path / "one.svg"]
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "both.svg").read_bytes()
    with pytest.raises(InputError, match=r"one\.pdf"):
        plots.save(figure, tmp_path / "one.pdf")
    with pytest.raises(InputError, match="does not exist"):
        plots.require_plots(tmp_path / "missing" / "one.png")


def test_without_matplotlib_one_sentence_says_so_before_anything_is_measured(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(InputError, match="matplotlib"):
        policies.run(SMALL, data, Choice(), plot=tmp_path / "plot.png")


def test_all_policies_have_a_title_and_a_way_to_be_measured() -> None:
    assert {*KEEPING, "rag_end", "rag_time", REREAD} == set(BUDGETED)
