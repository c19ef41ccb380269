"""Finds the times that a text names, so that a search can look for what was said then.

Understands days and months in ISO form, with dots, and in the words of the known languages, and phrases such as "3
weeks ago". People often talk about events a few days later, so a time extends some days beyond its end.
"""

import calendar
import math
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from typing import NamedTuple, Self

from halo_weave.text.languages.folding import folded
from halo_weave.text.languages.time_patterns import DAYS, TimePatterns, numbered_dates, patterns_for

AFTERWARDS = timedelta(days=7)
"""Events are mentioned afterwards, with decreasing probability."""

MOST = 6
"""A text with more times than this is a list, not a question."""

_MONTHS = {
    name.lower(): number for names in (calendar.month_name, calendar.month_abbr) for number, name in enumerate(names)
}
_MONTH = "|".join(sorted(filter(None, _MONTHS), key=len, reverse=True))
# English is searched for in the text as it is, because capitals tell months from other words.
_IN_ENGLISH = re.compile(
    rf"\b(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:\s+of)?\s+)?(?P<month>{_MONTH})\b\.?"
    r"(?:\s+(?P<day_behind>\d{1,2})(?:st|nd|rd|th)?\b)?(?:,?\s*(?P<year>\d{4})\b)?",
    re.IGNORECASE,
)
_LEAP_YEAR, _LEAP_DAYS_APART = 2000, 9


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
    def of(cls, year: str | int | None, month: int, day: str | int | None) -> Self | None:
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
    plain = " ".join(folded(text).split())
    patterns = patterns_for(plain)
    dates = dict.fromkeys((*_in_numbers(plain), *_in_english(text), *_in_words(plain, patterns)))
    spans = dict.fromkeys(_before(plain, patterns, now))
    named = [*(NamedTime(date) for date in dates), *(NamedTime(None, span) for span in spans)]
    return named if len(named) <= MOST else []


def nearness(named: list[NamedTime], moment: datetime) -> float:
    """Return how near a moment is to the nearest of the times, from 0 to 1."""
    spans = (time.latest(moment) for time in named)
    return max((span.nearness(moment) for span in spans if span is not None), default=0.0)


def _in_numbers(text: str) -> Iterator[Date]:
    for year, month, day in numbered_dates(text):
        if date := Date.of(year, month, day):
            yield date


def _in_english(text: str) -> Iterator[Date]:
    first_word = len(text) - len(text.lstrip())
    for found in _IN_ENGLISH.finditer(text):
        day, year, name = found["day"] or found["day_behind"], found["year"], found["month"]
        # "May" and "march" are also ordinary words: a month alone counts only if capitalised within a sentence.
        is_name = name[0].isupper() and found.start("month") > first_word
        if (day or year or is_name) and (date := Date.of(year, _MONTHS[name.lower()], day)):
            yield date


def _in_words(text: str, patterns: list[TimePatterns]) -> Iterator[Date]:
    for language in patterns:
        for year, month, day in language.dates(text):
            if date := Date.of(year, month, day):
                yield date


def _before(text: str, patterns: list[TimePatterns], now: datetime) -> Iterator[TimeSpan]:
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    for language in patterns:
        for count, unit in language.ago(text):
            days = DAYS[unit]
            if (count + 1) * days < today.toordinal():
                middle = today - timedelta(days=count * days)
                yield TimeSpan(middle - timedelta(days=days // 2), middle + timedelta(days=days // 2 + 1))
        for unit in language.last(text):
            yield TimeSpan(today - timedelta(days=2 * DAYS[unit]), today)
