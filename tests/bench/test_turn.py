"""The figures of a turn follow from the measurements."""

from pathlib import Path
from typing import Literal

import msgspec
import pytest

from halo_weave.bench import turn
from halo_weave.bench.scale import made_up_memory
from halo_weave.config import Settings
from halo_weave.engine.reader.settings import ReaderSettings
from halo_weave.engine.settings import EngineSettings
from halo_weave.session.turn.turn_state import Figures
from halo_weave.session.window.events import Event


def test_shares_and_ratios_are_of_all_turns_together() -> None:
    quick = Figures(new=10, resurrected=0, decoded=11, generated=5, engine_s=0.9, reply_s=1.0, search_s=0.01)
    slow = Figures(
        new=20, resurrected=70, decoded=89, generated=7, engine_s=2.7, reply_s=3.0, search_s=0.03, malformed=2
    )
    returns = turn.ReturnTracker()
    returns.returned, returns.left_soon = 8, 2
    figures = turn.summary([quick, slow], 1000, returns)
    assert figures.overhead_share == pytest.approx(0.1)
    assert figures.decoded_per_turn_ratio == pytest.approx(1.0)
    assert (figures.turns, figures.memory_chunks, figures.malformed_attention) == (2, 1000, 2)
    assert figures.reply_tokens == 6
    assert (figures.returned_chunks, figures.thrash_share) == (8, 0.25)
    assert figures.search_s == pytest.approx(0.02)


def test_a_chunk_that_returns_and_leaves_in_the_same_turn_or_the_next_counts_as_thrash() -> None:
    tracker = turn.ReturnTracker()

    def happens(kind: Literal["resurrected", "buried"], *chunks: int) -> None:
        keys = [{"key": {"turn": str(chunk), "chunk": 0, "role": "user"}} for chunk in chunks]
        tracker.note(Event(1, kind, {"chunks": keys}))

    tracker.begin_turn()
    happens("resurrected", 1, 2, 3, 4)
    happens("buried", 1, 9)
    tracker.begin_turn()
    happens("buried", 2)
    tracker.begin_turn()
    happens("buried", 3)
    assert tracker.thrash_share == 0.5
    assert turn.ReturnTracker().thrash_share == 0


def test_turns_are_measured_with_a_real_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HALO_HOME", str(tmp_path))
    monkeypatch.setattr(made_up_memory, "_FEWEST_REAL_TEXTS", 10)
    notices: list[str] = []
    figures = turn.run(Settings(engine=EngineSettings(kind="echo")), 2, notices.append, 1000)
    assert (figures.turns, figures.memory_chunks) == (2, 1000)
    assert 0 < figures.overhead_share < 1
    assert figures.reply_tokens > 0
    assert figures.decoded_per_turn_ratio > 0
    assert any(notice.startswith("turn 2 of 2") for notice in notices)


def test_text_returns_for_questions_about_real_conversations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HALO_HOME", str(tmp_path))
    data = tmp_path / "chats.jsonl"
    said = ("My sister's dog is called Biscuit.", "We had soup for lunch again.", "The train to Graz was late.")
    rows: list[dict[str, object]] = [
        {"type": "turn", "conversation": "c", "id": str(number), "role": "user", "text": text}
        for number, text in enumerate(said)
    ]
    rows.append({"type": "question", "conversation": "c", "text": "What is the dog called?", "evidence": ["0"]})
    rows.append({"type": "question", "conversation": "c", "text": "Which train was late?", "evidence": ["2"]})
    data.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    settings = Settings(engine=EngineSettings(kind="echo"), reader=ReaderSettings(kind="off"))
    figures = turn.run(settings, 1, lambda _: None, 1000, data)
    assert (figures.turns, figures.memory_chunks) == (1, 3)
    assert figures.returned_chunks >= 2
