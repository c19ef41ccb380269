"""Parses and formats dates and times as models write them."""

from datetime import datetime

from halo_weave.errors import InputError


def time_of_text(name: str, text: str) -> datetime:
    """Parse ISO 8601. Without a time zone, local time is assumed."""
    try:
        time = datetime.fromisoformat(text.strip())
        return time if time.tzinfo is not None else time.astimezone()
    except (ValueError, OverflowError, OSError):
        raise InputError(
            f"{name} is {text[:40]!r}, but must be a date or time such as 2026-03-01 or 2026-03-01T18:30."
        ) from None


def shown_time(time: datetime) -> str:
    return f"{time.astimezone():%Y-%m-%d %H:%M}"
