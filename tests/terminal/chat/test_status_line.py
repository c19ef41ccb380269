"""The status line under a reply shows context usage and the cost of the turn."""

from typing import Any

import msgspec
import pytest

from halo_weave.session.turn.turn_state import Figures
from halo_weave.terminal.chat.status_line import status_line, tokens_per_second


def stats(*, tokens: int = 812, budget: int = 1536, **figures: Any) -> dict[str, Any]:
    return {**msgspec.to_builtins(Figures(**figures)), "tokens": tokens, "budget": budget}


def test_it_tells_living_buried_resurrected_read_and_speed() -> None:
    measured = stats(decoded=41, generated=124, first_token_s=0.5, reply_s=10.5)
    assert (
        status_line(measured, buried=3, resurrected=2)
        == "context 812/1,536 · archived 3 · returned 2 · read 41 · 12.3 tokens/s"
    )


def test_without_a_budget_only_what_lives_is_told() -> None:
    assert status_line(stats(tokens=2000, budget=0), buried=0, resurrected=0).startswith("context 2,000 · ")


@pytest.mark.parametrize("generated", [0, 1])
def test_a_reply_without_a_second_token_has_no_speed(generated: int) -> None:
    measured = stats(generated=generated, first_token_s=0.5, reply_s=0.5)
    assert tokens_per_second(measured) is None
    assert "tokens/s" not in status_line(measured, buried=0, resurrected=0)
