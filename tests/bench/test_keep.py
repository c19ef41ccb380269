"""The measuring code of `bench keep`, on tiny data with known answers."""

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest

from halo_weave.bench.conversations import Question, Turn
from halo_weave.bench.keep import figures as keep_figures
from halo_weave.bench.keep import keep, ranking
from halo_weave.bench.keep.attention_cache import AttentionCache, Recording, observers_of, record
from halo_weave.bench.keep.feeding import FedChunk, FedConversation, FedTurn, feed
from halo_weave.config import Settings
from halo_weave.engine import GenerationSettings, Placed
from halo_weave.engine.echo import EchoEngine
from halo_weave.engine.llamacpp.engine import LlamaEngine
from halo_weave.engine.reader.settings import ReaderSettings
from halo_weave.errors import InputError
from halo_weave.records.roles import Role
from halo_weave.weave.brightness import make_scorer
from halo_weave.weave.brightness.cumulative import Cumulative
from halo_weave.weave.brightness.settings import ScorerSettings
from halo_weave.weave.settings import WeaveSettings


def exchanges(count: int, tokens: int) -> list[tuple[Role, int]]:
    exchange: list[tuple[Role, int]] = [("user", tokens), ("assistant", tokens)]
    return exchange * count


def conversation(*turns: tuple[Role, int]) -> FedConversation:
    """Each turn is one chunk of the given number of tokens, preceded by a frame of one token."""
    fed, chunks, place = [], [], 0
    for number, (role, tokens) in enumerate(turns):
        start = place + 1
        place = start + tokens
        fed.append(FedTurn(str(number), role, start, place))
        chunks.append(FedChunk(number, 0, role, start, place, tuple(f" w{token}" for token in range(start, place))))
    return FedConversation("a", tuple(range(place)), tuple(fed), tuple(chunks))


def question(*evidence: str) -> Question:
    return Question("a", "What was it?", evidence, "plain")


def looking_at(fed: FedConversation, place: int) -> Recording:
    """Every observer gives half of its attention to one token and spreads the rest."""
    observers = observers_of(fed)
    rows = []
    for observer in observers:
        row = np.full(observer + 1, 0.5 / (observer + 1))
        row[min(place, observer)] += 0.5
        rows.append(row.astype(np.float16))
    return Recording(observers, np.concatenate(rows))


def test_the_best_are_kept_until_the_tokens_are_used_and_what_does_not_fit_is_passed_over() -> None:
    sizes = np.array([40, 30, 20, 10])
    assert keep.kept(np.array([1.0, 4.0, 3.0, 2.0]), sizes, 50).tolist() == [False, True, True, False]
    assert keep.kept(np.array([4.0, 3.0, 2.0, 1.0]), sizes, 50).tolist() == [True, False, False, True]


def test_of_equals_the_newest_is_kept() -> None:
    assert keep.kept(np.zeros(4), np.array([10, 10, 10, 10]), 25).tolist() == [False, False, False, True]


def test_what_survived_is_the_share_of_the_evidence_in_tokens() -> None:
    asked = keep.KeepQuestion(question("0", "2"), 0, np.array([0, 2]))
    sizes = np.array([30, 50, 10])
    assert keep.survived(asked, sizes, np.array([True, True, False])) == pytest.approx(75)
    assert keep.survived(asked, sizes, np.array([False, True, False])) == 0


def test_questions_without_evidence_in_what_was_fed_are_left_out() -> None:
    """Only the fed part of a question's evidence counts."""
    fed = conversation(("user", 5), ("assistant", 5))
    asked = keep.questions_of([fed], [question("1"), question("7"), question(), question("0", "9")])
    assert [one.evidence.tolist() for one in asked] == [[1], [0]]


def test_controls_keep_the_newest_the_longest_and_the_users_words() -> None:
    fed = conversation(("user", 5), ("assistant", 30), ("user", 6), ("assistant", 7))
    orders = ranking.controls(fed, np.random.default_rng(1))
    first = {name: int(np.argmax(orders[name][0])) for name in ("fifo", "length")}
    assert first == {"fifo": 3, "length": 1}
    assert keep.kept(orders["user_first"][0], fed.sizes, 25).tolist() == [True, False, True, False]
    assert len(orders["random"]) == ranking.SHUFFLES


def test_chance_keeps_about_as_much_evidence_as_tokens() -> None:
    """A metric that favoured chance would flatter everything."""
    fed = conversation(*exchanges(50, 4))
    asked = keep.questions_of([fed], [question(str(turn)) for turn in range(100)])
    outcome = keep_figures.KeepOutcome()
    keep.measure(outcome, fed, asked, ranking.controls(fed, np.random.default_rng(1)))
    assert outcome.means("random")["kept_at_25"] == pytest.approx(25, abs=0.5)
    assert outcome.means("random")["kept_at_50"] == pytest.approx(50, abs=0.5)


def test_what_the_model_looked_at_is_kept_by_its_scorer() -> None:
    fed = conversation(*exchanges(5, 20))
    target = fed.chunks[2]
    scorer = Cumulative(half_life=8)
    peaks = ranking.peaks_at_end(scorer, fed, looking_at(fed, target.start + 3))
    scored = peaks[:8]  # the last exchange stays in progress until the end
    assert int(np.argmax(scored)) == 2


def test_the_exchange_under_way_is_not_scored() -> None:
    fed = conversation(("user", 20), ("assistant", 20))
    peaks = ranking.peaks_at_end(make_scorer(ScorerSettings(scorer="magnitude_v3")), fed, looking_at(fed, 5))
    assert peaks.tolist() == [10_000, 10_000]


def test_pruning_keeps_the_question_of_an_answer_and_not_the_answer_of_a_question() -> None:
    """The first question is worth least, but its answer most; the second is worth much, and its answer little."""
    fed = conversation(*exchanges(3, 10))
    asked = keep.questions_of([fed], [question(turn) for turn in "012345"])
    outcome = keep_figures.KeepOutcome()
    keep.measure_pruned(outcome, fed, asked, np.array([0.0, 9.0, 8.0, 1.0, 5.0, 4.0]))
    assert outcome.of("pruned", 50) == [100.0, 100.0, 100.0, 0.0, 0.0, 0.0]
    assert [chunk.key.turn for chunk in fed.living(range(6), np.zeros(6))] == [0, 1, 4, 5, 8, 9]


def test_somebody_who_speaks_twice_begins_a_new_exchange() -> None:
    fed = conversation(("assistant", 5), ("assistant", 5), ("user", 5), ("user", 5), ("assistant", 5))
    turns = [chunk.key.turn for chunk in fed.living(range(5), np.zeros(5))]
    assert turns == [1, 3, 4, 6, 7]


def test_parts_of_the_worth_add_up_to_it() -> None:
    fed = conversation(("user", 5), ("assistant", 9), ("user", 7))
    peaks = np.array([3.0, 1.0, 2.0])
    parts = ranking.ablated(fed, peaks)
    whole = ranking.worths(fed, peaks)
    assert sum(value for name, value in parts.items() if name.startswith("only_")) == pytest.approx(whole)
    for name in ("novelty", "names", "speaker", "brightness"):
        assert parts[f"only_{name}"] + parts[f"without_{name}"] == pytest.approx(whole)


def test_a_scorer_is_added_to_the_other_parts_of_the_worth_by_its_ranks_alone() -> None:
    fed = conversation(("user", 5), ("assistant", 9), ("user", 7))
    added = ranking.added(fed, {"cumulative": np.array([1.0, 2.0, 900.0])})
    others = ranking.ablated(fed, np.zeros(3))["without_brightness"]
    for weight in ranking.WEIGHTS:
        own = added[f"worth_with_{weight:g}_cumulative"] - others
        assert own == pytest.approx(weight * np.sqrt(1.5) * np.array([-1, 0, 1]))


def test_a_conversation_is_fed_in_whole_turns_up_to_the_limit() -> None:
    engine = EchoEngine()
    turns = [Turn("a", str(number), "user" if number % 2 == 0 else "assistant", "word " * 30) for number in range(9)]
    whole = feed(engine, "a", turns, "", 10_000)
    cut = feed(engine, "a", turns, "", len(whole.token_ids) - 1)
    assert [turn.id for turn in cut.turns] == [turn.id for turn in whole.turns[:-1]]
    said = "".join(text for chunk in whole.chunks for text in chunk.texts)
    assert said == "word " * 30 * 9


def test_recorded_rows_are_what_a_generation_would_have_reported(llama_engine: LlamaEngine) -> None:
    turns = [Turn("a", "1", "user", "Where is my cat?"), Turn("a", "2", "assistant", "On the warm router.")]
    fed = feed(llama_engine, "a", turns, "Be kind.", 2048)
    answer = fed.turns[1]
    context = llama_engine.open_context()
    try:
        context.sync([Placed(place, one) for place, one in enumerate(fed.token_ids[: answer.start])])
        step = next(iter(context.generate(GenerationSettings(temperature=0, max_tokens=1))))
    finally:
        context.close()
    observer, row = next(iter(record(llama_engine, fed)))
    assert observer == answer.start - 1
    assert step.attention is not None
    assert row == pytest.approx(step.attention, abs=2e-3)


def test_what_was_recorded_is_not_read_again_unless_it_is_damaged(tmp_path: Path, llama_engine: LlamaEngine) -> None:
    turns = [Turn("a", "1", "user", "Hello there."), Turn("a", "2", "assistant", "Hello to you.")]
    fed = feed(llama_engine, "a", turns, "", 2048)
    told: list[str] = []
    cache = AttentionCache(tmp_path, llama_engine)
    first = [row for _, row in cache.recording(fed, told.append)]
    assert told
    told.clear()
    again = [row for _, row in AttentionCache(tmp_path, llama_engine).recording(fed, told.append)]
    assert not told
    assert all(np.array_equal(one, other) for one, other in zip(first, again, strict=True))
    (kept,) = tmp_path.iterdir()
    kept.write_bytes(kept.read_bytes()[:-100])
    anew = [row for _, row in cache.recording(fed, told.append)]
    assert told
    assert all(np.array_equal(one, other) for one, other in zip(first, anew, strict=True))


ROWS: list[dict[str, object]] = [
    {"type": "turn", "conversation": "a", "id": "1", "role": "user",
     "text": "My sister Nadia moved to Lisbon in 2019 with her parrot Kofi."},
    {"type": "turn", "conversation": "a", "id": "2", "role": "assistant",
     "text": "That is good to hear, that is really good to hear, and it is good of you to tell me that it is so."},
    {"type": "turn", "conversation": "a", "id": "3", "role": "user", "text": "Yes, that is good."},
    {"type": "turn", "conversation": "a", "id": "4", "role": "assistant",
     "text": "It is really good to hear that it is good, and it is good of you to tell me that it is so, really good."},
    {"type": "question", "conversation": "a", "text": "Where does Nadia live?", "evidence": ["1"], "category": "fact"},
    {"type": "question", "conversation": "a", "text": "Who knows?", "evidence": [], "category": "nothing"},
]  # fmt: skip


def test_a_whole_run_keeps_what_is_plainly_said_once(tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text("\n".join(json.dumps(row) for row in ROWS))
    details, plot = tmp_path / "details.jsonl", tmp_path / "kept.svg"
    figures = keep.run(Settings(), data, tokens=512, details=details, plot=plot)
    assert figures["default"]["scorer"] == "worth"
    assert figures["default"]["kept_at_50"] == 100
    assert set(figures["controls"]) == {"random", "fifo", "length", "user_first"}
    assert figures["controls"]["fifo"]["kept_at_50"] == 0
    assert {"magnitude_v3", "looked_at_mean"} < set(figures["scorers"])
    assert "worth_with_0.1_looked_at_mean" in figures["added"]
    assert figures["default_ahead_of"]["fifo"]["kept_at_50"] == (100, 100, 100)
    assert figures["questions"] == 1
    (line,) = [json.loads(line) for line in details.read_text().splitlines()]
    assert line["kept"]["worth"]["50"] == 100
    assert plot.read_text().startswith("<?xml")
    lines = list(keep_figures.table(figures))
    assert any(line.startswith("worth") and "100.0 [100.0, 100.0]" in line for line in lines)
    assert any(line.startswith("fifo") and "worth is ahead by 0.0 [0.0, 0.0]" in line for line in lines)


def test_without_the_model_nothing_is_recorded_and_the_rest_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HALO_HOME", str(tmp_path))
    data = tmp_path / "data.jsonl"
    data.write_text("\n".join(json.dumps(row) for row in ROWS))
    settings = msgspec.structs.replace(Settings(), reader=ReaderSettings(kind="off"))
    figures = keep.run(settings, data, tokens=512, with_model=False)
    assert list(figures["scorers"]) == ["worth"]
    assert figures["default"]["kept_at_50"] == 100
    assert not (tmp_path / "cache" / "bench-attention").exists()
    assert not any(line.startswith("added") for line in keep_figures.table(figures))


def test_brightness_alone_cannot_be_measured_without_the_model(tmp_path: Path) -> None:
    settings = msgspec.structs.replace(Settings(), weave=WeaveSettings(keeps_by="brightness"))
    with pytest.raises(InputError, match="cannot be measured without the model"):
        keep.run(settings, tmp_path / "data.jsonl", with_model=False)


def test_data_whose_evidence_comes_too_late_is_refused(tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text("\n".join(json.dumps(row | ({"evidence": ["99"]} if "evidence" in row else {})) for row in ROWS))
    with pytest.raises(InputError, match="has evidence within its first 512 tokens"):
        keep.run(Settings(), data, tokens=512)
