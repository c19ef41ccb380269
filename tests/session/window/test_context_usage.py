"""How full a window is, and what it reports as leaving next."""

from pathlib import Path

import pytest

from halo_weave.engine.echo import EchoEngine
from halo_weave.session.turn.turn import send
from halo_weave.session.window.context_usage import NEARLY_FULL, context_usage
from halo_weave.session.window.window import Window
from support.windows import PLAIN, opened_hub, weave, with_section

USABLE = 4096
SHORT_REPLIES, LONG_REPLIES = 200, USABLE - 400
NO_BUDGET = {"budget_tokens": USABLE}


@pytest.mark.parametrize(
    ("budget", "longest", "room"),
    [
        pytest.param({"budget_tokens": 400}, SHORT_REPLIES, 400, id="a budget"),
        pytest.param({"budget_tokens": 2000}, LONG_REPLIES, 400, id="a budget beyond the room that a reply needs"),
        pytest.param(NO_BUDGET, LONG_REPLIES, 400, id="no budget"),
    ],
)
@pytest.mark.parametrize("keeps_by", ["worth", "brightness"])
def test_what_leaves_next_is_told_only_when_the_room_is_nearly_full(
    tmp_path: Path, budget: dict[str, object], longest: int, room: int, keeps_by: str
) -> None:
    settings = weave(with_section(PLAIN, "generation", max_tokens=longest), keeps_by=keeps_by, **budget)
    with opened_hub(tmp_path / "halo.db", EchoEngine(context_tokens=USABLE), settings) as hub:
        window = hub.open("river")
        told = [_is_told(window, room)]
        for number in range(8):
            send(window, f"The boat number {number} goes down the river to the town of {number} bridges.")
            told.append(_is_told(window, room))
    assert told[:2] == [False, False]
    assert told[-1]


def _is_told(window: Window, room: int) -> bool:
    told = context_usage(window)
    is_nearly_full: bool = told["tokens"] > NEARLY_FULL * room
    assert bool(told["next_keys"]) == is_nearly_full
    if window.settings.weave.keeps_by == "brightness":
        assert (told["next_to_bury"] is not None) == is_nearly_full
    return is_nearly_full
