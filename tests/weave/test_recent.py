"""Which chunks count as recent, and that they leave last."""

from pathlib import Path

import pytest

from halo_weave.engine.echo import EchoEngine
from halo_weave.records.chunks import ChunkKey
from halo_weave.records.roles import Role
from halo_weave.session.turn.turn import send
from halo_weave.weave import pruning
from halo_weave.weave.living import LivingChunk
from halo_weave.weave.recent import JUST_SAID, recencies
from support.windows import opened_hub, weave


def chunk(turn: int, role: Role, index: int = 0, *, worth: float = 0.0, recency: float = 0.0) -> LivingChunk:
    return LivingChunk(ChunkKey(turn, index, role), 100 * turn + index, 10, 2, 0.0, worth=worth, recency=recency)


EXCHANGES = [chunk(1, "user"), chunk(2, "assistant"), chunk(3, "user"), chunk(4, "assistant")]


def test_the_newest_chunks_that_fit_are_recent_the_newer_the_more() -> None:
    newest, before = recencies(EXCHANGES, 24).items()
    assert newest == (ChunkKey(4, 0, "assistant"), JUST_SAID)
    assert before[0] == ChunkKey(3, 0, "user")
    assert 0 < before[1] < JUST_SAID
    assert recencies(EXCHANGES, 48).keys() == {one.key for one in EXCHANGES}


def test_the_newest_chunk_is_recent_however_long_it_is() -> None:
    assert recencies(EXCHANGES, 1).keys() == {ChunkKey(4, 0, "assistant")}
    assert recencies(EXCHANGES, 0) == {}
    assert recencies([], 10) == {}


def test_no_older_chunk_is_recent_once_one_does_not_fit() -> None:
    long = [chunk(1, "user"), chunk(3, "user")._replace(tokens=90), chunk(4, "assistant")]
    assert recencies(long, 60).keys() == {ChunkKey(4, 0, "assistant")}


def test_a_frame_counts_once_for_its_turn() -> None:
    two = [chunk(1, "user"), chunk(1, "user", 1)]
    assert recencies(two, 22).keys() == {one.key for one in two}
    assert recencies(two, 21).keys() == {two[1].key}


def test_what_is_recent_leaves_only_when_nothing_else_may() -> None:
    worthy, dull = chunk(1, "user", worth=5.0), chunk(3, "user", worth=-5.0, recency=0.5)
    first = pruning.plan([worthy, dull], budget=12)
    assert [one.key for one in first.burials] == [worthy.key]
    everything = pruning.plan([worthy, dull], budget=1)
    assert [one.key for one in everything.burials] == [worthy.key, dull.key]


@pytest.mark.parametrize(("share", "lives"), [(0.4, True), (0.0, False)])
def test_a_dull_exchange_lives_on_in_a_full_window_while_it_is_recent(
    tmp_path: Path, share: float, lives: bool
) -> None:
    rich = [f"Captain Nemo{number} met Ishmael{number} in Port {number * 7}." for number in range(6)]
    engine = EchoEngine([*(f"Indeed, on {number} May {1900 + number}." for number in range(6)), "so so", "Yes."])
    settings = weave(budget_tokens=260, recent_share=share)
    with opened_hub(tmp_path / "halo.db", engine, settings) as hub:
        window = hub.open("main")
        for text in (*rich, "so so", "And Queequeg sailed with Pip in 1851."):
            send(window, text)
        assert window.life.burial_log.keys()
        assert ("so so" in [one.text for one in window.life.context]) == lives
