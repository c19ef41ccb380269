"""Finds the times that a text names, so that a search can look for what was said then.

Understands days and months in ISO form, with dots and in English words, and English phrases such as "3 weeks ago".
People often talk about events a few days later, so a time extends some days beyond its end.
"""

import calendar
import math
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from typing import NamedTuple, Self

AFTERWARDS = timedelta(days=7)
"""Events are mentioned afterwards, with decreasing probability."""

MOST = 6
"""A text with more times than this is a list, not a question."""

_MONTHS = {
    name.lower(): number for names in (calendar.month_name, calendar.month_abbr) for number, name in enumerate(names)
}
_MONTH = "|".join(sorted(filter(None, _MONTHS), key=len, reverse=True))
_ALONE = (r"(?<![\w.-])", r"(?![\w-]|\.\d)")
"""Surrounds numbers that are not part of another number."""
_ISO = re.compile(r"(?P<year>\d{4})-(?P<month>\d{1,2})(?:-(?P<day>\d{1,2}))?".join(_ALONE))
_DOTTED = re.compile(r"(?P<day>\d{1,2})\.\s?(?P<month>\d{1,2})\.\s?(?P<year>\d{4})".join(_ALONE))
_IN_WORDS = re.compile(
    rf"\b(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:\s+of)?\s+)?(?P<month>{_MONTH})\b\.?"
    r"(?:\s+(?P<day_behind>\d{1,2})(?:st|nd|rd|th)?\b)?(?:,?\s*(?P<year>\d{4})\b)?",
    re.IGNORECASE,
)
_AGO = re.compile(r"\b(?P<count>\d{1,4}|an?|one)\s+(?P<unit>day|week|month|year)s?\s+ago\b", re.IGNORECASE)
# Not "today", which people use for what is new.
_LAST = re.compile(r"\b(?:(?P<yesterday>yesterday)|(?:last|past)\s+(?P<unit>week|month|year))\b", re.IGNORECASE)
_LEAP_YEAR, _LEAP_DAYS_APART = 2000, 9
_DAYS = {"day": 1, "week": 7, "month": 31, "year": 366}


class TimeSpan(NamedTuple):
    """From `start`, inclusive, to `end`, exclusive."""

    start: datetime
    end: datetime

    def nearness(self, moment: datetime) -> float:
        """Return 1 within the span, a falling value after it, and 0 before it."""
        if moment < self.start:
            return 0.0
        return math.exp(-max(0.0, (moment - self.end) / AFTERWARDS)) if moment >= self.end else 1.0


class Date(NamedTuple):
    """A day or a whole month. Without a year, it recurs every year."""

    year: int | None
    month: int
    day: int | None

    @classmethod
    def of(cls, year: str | None, month: int, day: str | None) -> Self | None:
        """Return the date, or None if it exists in no year."""
        date = cls(int(year) if year else None, month, int(day) if day else None)
        return date if date.in_year(date.year or _LEAP_YEAR, UTC) else None

    def in_year(self, year: int, zone: tzinfo | None) -> TimeSpan | None:
        if not 1 <= year < 9999 or not 1 <= self.month <= 12:
            return None
        days = calendar.monthrange(year, self.month)[1]
        if self.day is not None and not 1 <= self.day <= days:
            return None
        start = datetime(year, self.month, self.day or 1, tzinfo=zone)
        return TimeSpan(start, start + timedelta(days=1 if self.day else days))


class NamedTime(NamedTuple):
    """Either a date or a fixed span."""

    date: Date | None
    span: TimeSpan | None = None

    def latest(self, moment: datetime) -> TimeSpan | None:
        """Return the latest occurrence that had begun by `moment`."""
        if self.date is None:
            return self.span
        years = (self.date.year,) if self.date.year else range(moment.year, moment.year - _LEAP_DAYS_APART, -1)
        spans = (self.date.in_year(year, moment.tzinfo) for year in years)
        return next((span for span in spans if span is not None and span.start <= moment), None)


def named_times(text: str, now: datetime) -> list[NamedTime]:
    """Return times in the time zone of `now`; none if there are too many for one to be meant."""
    dates = dict.fromkeys((*_in_numbers(text), *_in_words(text)))
    named = [*(NamedTime(date) for date in dates), *(NamedTime(None, span) for span in _before(text, now))]
    return named if len(named) <= MOST else []


def nearness(named: list[NamedTime], moment: datetime) -> float:
    """Return how near a moment is to the nearest of the times, from 0 to 1."""
    spans = (time.latest(moment) for time in named)
    return max((span.nearness(moment) for span in spans if span is not None), default=0.0)


def _in_numbers(text: str) -> Iterator[Date]:
    for pattern in (_ISO, _DOTTED):
        for found in pattern.finditer(text):
            if date := Date.of(found["year"], int(found["month"]), found["day"]):
                yield date


def _in_words(text: str) -> Iterator[Date]:
    first_word = len(text) - len(text.lstrip())
    for found in _IN_WORDS.finditer(text):
        day, year, name = found["day"] or found["day_behind"], found["year"], found["month"]
        # "May" and "march" are also ordinary words: a month alone counts only if capitalised within a sentence.
        is_name = name[0].isupper() and found.start("month") > first_word
        if (day or year or is_name) and (date := Date.of(year, _MONTHS[name.lower()], day)):
            yield date


def _before(text: str, now: datetime) -> Iterator[TimeSpan]:
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    for found in _AGO.finditer(text):
        count = int(found["count"]) if found["count"].isdecimal() else 1
        unit = _DAYS[found["unit"].lower()]
        if (count + 1) * unit < today.toordinal():
            middle = today - timedelta(days=count * unit)
            yield TimeSpan(middle - timedelta(days=unit // 2), middle + timedelta(days=unit // 2 + 1))
    for found in _LAST.finditer(text):
        days = 1 if found["yesterday"] else 2 * _DAYS[found["unit"].lower()]
        yield TimeSpan(today - timedelta(days=days), today)
