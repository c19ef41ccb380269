"""The script of the demo: a half year that always ends yesterday, long enough to show the memory at work."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_weave.demo.script import demo_exchanges, read_script
from halo_weave.errors import InputError

NOW = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)


@given(st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1)), st.integers(-12, 14))  # noqa: DTZ001
def test_the_half_year_ends_just_before_today_whatever_the_day(day: datetime, offset: int) -> None:
    now = day.replace(tzinfo=timezone(timedelta(hours=offset)))
    times = [exchange.time for exchange in demo_exchanges(now)]
    assert times == sorted(times)
    assert timedelta(days=180) <= now - times[0] <= timedelta(days=183)
    assert timedelta(0) < now - times[-1] <= timedelta(days=2)


def test_it_has_a_few_hundred_turns_in_several_windows() -> None:
    exchanges = demo_exchanges(NOW)
    assert 100 <= len(exchanges) <= 300
    assert len({exchange.window for exchange in exchanges}) >= 4
    assert all(exchange.message and exchange.reply for exchange in exchanges)


def test_a_message_is_followed_by_its_reply_and_a_reply_may_have_paragraphs() -> None:
    script = "# kitchen, 3 days ago, 8:05\n> Bread?\nYes.\n\nWith rye.\n\n> Good.\nFine.\n"
    first, second = read_script(script, NOW)
    assert first == ("kitchen", datetime(2026, 2, 26, 8, 5, tzinfo=UTC), "Bread?", "Yes.\n\nWith rye.")
    assert (second.message, second.reply) == ("Good.", "Fine.")
    assert second.time > first.time


@pytest.mark.parametrize(
    "script",
    [
        "> No window.\nNone.\n",
        "# kitchen, 3 days ago, 8:05\n> No reply.\n",
        "# kitchen, 3 days ago, 8:05\n> One.\nOne.\n# kitchen, 4 days ago, 8:05\n> Two.\nTwo.\n",
        "# kitchen, long ago\n> One.\nOne.\n",
    ],
)
def test_a_script_that_cannot_be_understood_is_refused(script: str) -> None:
    with pytest.raises(InputError):
        read_script(script, NOW)
