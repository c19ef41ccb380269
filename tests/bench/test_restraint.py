"""The measuring code of `bench restraint`, on tiny data with the echo engine."""

from pathlib import Path

from bench.test_recall import ROWS, written
from halo_weave.bench.restraint import restraint
from halo_weave.bench.restraint.messages import MESSAGES
from halo_weave.config import Settings
from halo_weave.engine.settings import EngineSettings


def test_every_message_is_counted_once_by_kind_and_once_by_language(tmp_path: Path) -> None:
    data = written(tmp_path / "talk.jsonl", ROWS)
    figures = restraint.run(Settings(engine=EngineSettings(kind="echo")), data, 1, lambda _: None)
    messages = sum(len(texts) for kinds in MESSAGES.values() for texts in kinds.values())
    assert figures["messages"] == messages
    for grouped in (figures["by_kind"], figures["by_language"]):
        assert sum(group["messages"] for group in grouped.values()) == messages
        returned = sum(group["messages"] * group["returned_tokens_mean"] for group in grouped.values())
        assert abs(returned - messages * figures["returned_tokens_mean"]) < 1e-6
    assert figures["turns"] == 4
    assert figures["silent_share"] > 0.9
    assert figures["first_token_ratio"] > 0
