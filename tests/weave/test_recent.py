"""Which exchanges count as recent, and that they leave last."""

from pathlib import Path

import pytest

from halo_weave.engine.echo import EchoEngine
from halo_weave.records.chunks import ChunkKey
from halo_weave.records.roles import Role
from halo_weave.session.turn.turn import send
from halo_weave.weave import pruning
from halo_weave.weave.living import LivingChunk, TurnKey
from halo_weave.weave.recent import newest_exchanges
from support.windows import opened_hub, weave


def chunk(turn: int, role: Role, index: int = 0, *, worth: float = 0.0, is_recent: bool = False) -> LivingChunk:
    return LivingChunk(ChunkKey(turn, index, role), 100 * turn + index, 10, 2, 0.0, worth=worth, is_recent=is_recent)


EXCHANGES = [chunk(1, "user"), chunk(2, "assistant"), chunk(3, "user"), chunk(4, "assistant")]


def test_the_newest_exchanges_that_fit_are_recent_with_both_turns() -> None:
    assert newest_exchanges(EXCHANGES, 24) == {TurnKey(3, "user"), TurnKey(4, "assistant")}
    assert newest_exchanges(EXCHANGES, 48) == {one.turn for one in EXCHANGES}


def test_an_exchange_that_does_not_fit_is_not_recent_nor_is_anything_older() -> None:
    assert newest_exchanges(EXCHANGES, 23) == frozenset()
    long = [*EXCHANGES, *(chunk(4, "assistant", index) for index in range(1, 9))]
    assert newest_exchanges(long, 60) == frozenset()


def test_the_frame_of_a_turn_counts_once() -> None:
    two = [chunk(1, "user"), chunk(1, "user", 1)]
    assert newest_exchanges(two, 22) == {TurnKey(1, "user")}
    assert newest_exchanges(two, 21) == frozenset()


def test_what_is_recent_leaves_only_when_nothing_else_may() -> None:
    worthy, dull = chunk(1, "user", worth=5.0), chunk(3, "user", worth=-5.0, is_recent=True)
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
