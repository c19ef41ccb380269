"""The measuring code of `bench recall`, on tiny data with known answers."""

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from halo_weave.bench import recall
from halo_weave.bench.conversations import read_conversations
from halo_weave.bench.intervals import interval, paired_difference
from halo_weave.config import Settings
from halo_weave.errors import InputError
from halo_weave.memory.search.search import Hit
from halo_weave.records.chunks import Chunk, ChunkKey
from halo_weave.records.roles import Role
from halo_weave.records.tokens import Token

ROWS: list[dict[str, object]] = [
    {"type": "turn", "conversation": "a", "id": "1", "role": "user", "speaker": "Ann", "time": "2026-01-02T10:00:00",
     "session": 1, "text": "My cat Miso sleeps on the warm router."},
    {"type": "turn", "conversation": "a", "id": "2", "role": "assistant", "speaker": "Bo", "time": None, "session": 1,
     "text": "A router is a fine place for a cat."},
    {"type": "turn", "conversation": "b", "id": "1", "role": "user", "speaker": "Cy", "time": None, "session": 1,
     "text": "The ferry to the island was late because of the crane."},
    {"type": "turn", "conversation": "b", "id": "2", "role": "user", "speaker": "Cy", "time": None, "session": 1,
     "text": "Bread needs flour, water, salt and patience."},
    {"type": "question", "conversation": "a", "text": "Where does Miso sleep?", "answer": "router", "evidence": ["1"],
     "category": "place"},
    {"type": "question", "conversation": "b", "text": "Why was the ferry late?", "answer": "crane", "evidence": ["1"],
     "category": "cause"},
    {"type": "question", "conversation": "b", "text": "Who knows?", "answer": "nobody", "evidence": [],
     "category": "nothing"},
]  # fmt: skip


def written(path: Path, rows: list[dict[str, object]]) -> Path:
    content = "\n".join(json.dumps(row) for row in rows).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


def chunk(turn: int, index: int, role: Role, tokens: int) -> Chunk:
    words = [Token(place, "x ") for place in range(tokens)]
    key = ChunkKey(turn, index, role)
    return Chunk.of_tokens(key, words, first_position=turn * 1000 + index * 100, time=datetime(2026, 1, 1, tzinfo=UTC))


def hit(chunk: Chunk) -> Hit:
    return Hit(0, chunk, 1.0, None, None, None, None)


@pytest.fixture
def chunks() -> dict[str, Chunk]:
    return {
        "question": chunk(1, 0, "user", 10),
        "answer": chunk(2, 0, "assistant", 20),
        "rest": chunk(2, 1, "assistant", 30),
        "other": chunk(3, 0, "user", 40),
    }


@pytest.fixture
def stream(chunks: dict[str, Chunk]) -> recall.ConversationStream:
    stream = recall.ConversationStream()
    stream.hold(chunks.values())
    return stream


def test_a_chunk_brings_the_openings_of_its_question_and_answer(
    chunks: dict[str, Chunk], stream: recall.ConversationStream
) -> None:
    context = recall.fill_context([hit(chunks["rest"])], stream, 60)
    assert context == {chunks[name].key for name in ("question", "answer", "rest")}


def test_a_group_that_does_not_fit_is_passed_over_for_the_next(
    chunks: dict[str, Chunk], stream: recall.ConversationStream
) -> None:
    assert recall.fill_context([hit(chunks["rest"]), hit(chunks["other"])], stream, 59) == {chunks["other"].key}


def test_scores_are_the_share_of_evidence_that_was_found(
    chunks: dict[str, Chunk], stream: recall.ConversationStream
) -> None:
    nothing_found = recall.score([hit(chunks["other"])], {1, 2}, stream)
    assert nothing_found["recall_at_5"] == 0
    assert nothing_found["evidence_at_512"] == 0
    half = recall.score([hit(chunks["question"])], {1, 2}, stream)
    assert half["recall_at_5"] == 50
    assert half["evidence_at_512"] == pytest.approx(100 * 10 / 60)
    assert recall.score([hit(chunks["rest"])], {1, 2}, stream)["evidence_at_512"] == 100


def test_only_the_first_turns_count_for_recall(chunks: dict[str, Chunk], stream: recall.ConversationStream) -> None:
    others = [hit(chunk(turn, 0, "user", 1)) for turn in range(100, 110)]
    stream.hold(other.chunk for other in others)
    scores = recall.score([*others, hit(chunks["question"])], {1}, stream)
    assert (scores["recall_at_5"], scores["recall_at_10"], scores["recall_at_20"]) == (0, 0, 100)


def test_a_whole_run_finds_what_is_plainly_there(tmp_path: Path) -> None:
    figures = recall.run(Settings(), written(tmp_path / "data.jsonl.gz", ROWS))
    assert figures["questions"] == 2
    assert figures["recall_at_5"] == 100
    assert figures["evidence_at_512"] == 100
    assert figures["oracle_at_512"] == 100
    assert figures["by_category"]["place"]["questions"] == 1
    assert figures["intervals"]["recall_at_5"] == (100, 100)


def test_details_tell_of_each_question_where_its_evidence_ranks(tmp_path: Path) -> None:
    details = tmp_path / "details.jsonl"
    figures = recall.run(Settings(), written(tmp_path / "data.jsonl", ROWS), details=details)
    answers = [json.loads(line) for line in details.read_text().splitlines()]
    assert [answer["question"] for answer in answers] == ["Where does Miso sleep?", "Why was the ferry late?"]
    assert [answer["ranks"] for answer in answers] == [{"1": 1}, {"1": 1}]
    assert figures["recall_at_5"] == sum(answer["scores"]["recall_at_5"] for answer in answers) / 2


def test_an_interval_holds_the_mean_and_narrows_with_more_questions() -> None:
    few, many = interval([0.0, 100.0] * 5), interval([0.0, 100.0] * 500)
    assert few[0] < 50 < few[1]
    assert many[0] < 50 < many[1]
    assert many[1] - many[0] < few[1] - few[0]


def test_a_difference_is_taken_question_by_question() -> None:
    assert paired_difference([0.0, 50.0, 100.0], [10.0, 60.0, 110.0]) == (10, 10, 10)
    mean, low, high = paired_difference([0.0] * 50, [0.0, 10.0] * 25)
    assert low < mean == 5 < high


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b'{"type": "turn"}', "Line 1"),
        (b"\n\nnot json", "Line 3"),
        (b"", "no turns"),
        (b"\x1f\x8bbroken", "Cannot read the data file"),
    ],
)
def test_data_of_another_form_is_refused_with_the_line(tmp_path: Path, content: bytes, complaint: str) -> None:
    path = tmp_path / "data.jsonl"
    path.write_bytes(content)
    with pytest.raises(InputError, match=complaint):
        read_conversations(path)
