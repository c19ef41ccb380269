"""Regular expressions for times, made from the data of each language and applied to folded text.

Nothing in them repeats without a limit, so the time they take grows with the length of the text and no faster.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

from halo_weave.text.languages.english import ENGLISH
from halo_weave.text.languages.folding import MARKS
from halo_weave.text.languages.known import LANGUAGES
from halo_weave.text.languages.language import DateWords, Language, TimeUnit
from halo_weave.text.languages.recognition import unlikely_languages

DAYS: Mapping[TimeUnit, int] = {"day": 1, "week": 7, "month": 31, "year": 366}

_WORD = re.compile(rf"[\w{MARKS}]+")
_BEGINS, _ENDS = rf"(?<![\w{MARKS}])", rf"(?![\w{MARKS}])"
_ALONE = (r"(?<![\w./-])", r"(?![\w/-]|\.\d)")
"""Surrounds numbers that are not part of another number."""
_YEAR_FIRST = re.compile(r"(?P<year>\d{4})(?:-(?P<month>\d{1,2})(?:-(?P<day>\d{1,2}))?)".join(_ALONE))
_WITH_SLASHES = re.compile(r"(?P<year>\d{4})/(?P<month>\d{1,2})/(?P<day>\d{1,2})".join(_ALONE))
_DAY_FIRST = re.compile(r"(?P<day>\d{1,2})\. ?(?P<month>\d{1,2})\. ?(?P<year>\d{4})".join(_ALONE))
_NUMERALS = "〇零一二三四五六七八九十"
# Chinese, Japanese and Korean number their months. 月 is also the moon, as in 月亮 and 月饼.
_EAST_ASIAN = re.compile(
    rf"(?<![\d{_NUMERALS}])(?:(?P<year>\d{{4}}|[{_NUMERALS}]{{4}})[年년] ?)?"
    rf"(?P<month>\d{{1,2}}|[{_NUMERALS}]{{1,3}})(?:月(?![亮饼餅球光经經薪票台])|월)"
    rf"(?: ?(?P<day>\d{{1,2}}|[{_NUMERALS}]{{1,3}})[日号號일])?"
)
_TEN = 10
_LANGUAGE = {language.code: language for language in LANGUAGES}
_BUDDHIST_ERA, _FIRST_BUDDHIST_YEAR = 543, 2400

FoundDate = tuple[int | None, int, int | None]
"""Year, month and day, which may be out of range."""


def numbered_dates(text: str) -> Iterator[FoundDate]:
    """Yield dates whose months are numbers."""
    for pattern in (_YEAR_FIRST, _WITH_SLASHES, _DAY_FIRST, _EAST_ASIAN):
        for found in pattern.finditer(text):
            yield _numeral(found["year"]), _numeral(found["month"]) or 0, _numeral(found["day"])


class TimePatterns:
    """What one language calls its months and times before now."""

    def __init__(self, language: Language) -> None:
        words, has_spaces = language.dates, language.has_spaces
        begins, ends = (_BEGINS, _ENDS) if has_spaces else ("", "")
        self._months = words.months.split(", ")
        self._numbers = words.numbers
        self._units = words.units
        self._pairs = words.pairs
        self._days = words.days_back
        self._days_back = re.compile(f"{begins}(?:{'|'.join(words.days_back)}){ends}")
        self._last = [(unit, re.compile(f"{begins}(?:{one}){ends}")) for unit, one in words.last.items()]
        self._ago = [re.compile(f"{begins}(?:{_ago(words, one)}){ends}") for one in words.ago]
        self._date = re.compile(begins + _date(words, ends)) if words.months else None
        self._alone_is_enough = not (words.before_month or words.after_month)

    def dates(self, text: str) -> Iterator[FoundDate]:
        for found in self._date.finditer(text) if self._date else ():
            day, year = _numeral(found["day"] or found["day_behind"]), _numeral(found["year"])
            if year and year >= _FIRST_BUDDHIST_YEAR:
                year -= _BUDDHIST_ERA
            if day or year or self._alone_is_enough or found["before"] or found["after"]:
                yield year, _which(self._months, found["month"]) + 1, day

    def ago(self, text: str) -> Iterator[tuple[int, TimeUnit]]:
        """Yield counts of units before now."""
        for pattern in self._ago:
            for found in pattern.finditer(text):
                yield self._count(found["count"], found["unit"])
        for found in self._days_back.finditer(text):
            yield next(days for forms, days in self._days.items() if re.fullmatch(forms, found[0])), "day"

    def last(self, text: str) -> Iterator[TimeUnit]:
        for unit, pattern in self._last:
            if pattern.search(text):
                yield unit

    def _count(self, count: str | None, unit: str) -> tuple[int, TimeUnit]:
        for pair, forms in self._pairs.items():
            if re.fullmatch(forms, unit):
                return 2, pair
        number = 1 if not count else int(count) if count.isdecimal() else _which(self._numbers, count) + 1
        return number, next(name for name, forms in self._units.items() if re.fullmatch(forms, unit))


def patterns_for(text: str) -> list[TimePatterns]:
    """Return the patterns of the languages in which a folded text may name a time; looking for it takes longer."""
    words = frozenset(_WORD.findall(text))
    able = [language for language in LANGUAGES if _may_name_time(language, text, words)]
    # "hier" is yesterday in French and here in German. English has the words of no other language for times.
    unlikely = unlikely_languages(words) - {ENGLISH.code} if able else frozenset()
    return [_patterns(language.code) for language in able if language.code not in unlikely]


def _may_name_time(language: Language, text: str, words: frozenset[str]) -> bool:
    vocabulary = _vocabulary(language.code)
    return not vocabulary.isdisjoint(words) if language.has_spaces else any(word in text for word in vocabulary)


@cache
def _vocabulary(code: str) -> frozenset[str]:
    """Return the words of which one is in every time that is named in this language."""
    words = _LANGUAGE[code].dates
    forms = (
        *words.units.values(),
        *words.pairs.values(),
        *words.days_back,
        *words.last.values(),
        *words.months.split(", "),
    )
    return frozenset(_WORD.findall(" ".join(forms)))


@cache
def _patterns(code: str) -> TimePatterns:
    """Compiled on first use, because that takes long, and most people use few languages."""
    return TimePatterns(_LANGUAGE[code])


def _date(words: DateWords, ends: str) -> str:
    of = f"(?:(?:{words.of}) )?" if words.of else ""
    before = f"(?:(?P<before>{words.before_month}) )?" if words.before_month else "(?P<before>)"
    after = f"(?P<after> (?:{words.after_month}))?" if words.after_month else "(?P<after>)"
    day = rf"(?:(?<![\d.])(?P<day>\d{{1,2}}){words.ordinal} {{0,2}}{of})?"
    day_behind = r"(?: (?P<day_behind>\d{1,2})(?!\d))?"
    year = rf"(?:,? {{0,2}}{of}(?P<year>\d{{4}})(?!\d))?"
    return rf"{before}{day}(?P<month>{words.months.replace(', ', '|')}){ends}{day_behind}{year}{after}"


def _ago(words: DateWords, form: str) -> str:
    count = rf"(?P<count>\d{{1,4}}|{'|'.join(words.numbers)})"
    return form.format(count=count, unit=f"(?P<unit>{'|'.join((*words.units.values(), *words.pairs.values()))})")


def _which(forms: Iterable[str], word: str) -> int:
    return next(place for place, one in enumerate(forms) if re.fullmatch(one, word))


def _numeral(text: str | None) -> int | None:
    """Read digits or Chinese numerals: 二〇二三 digit by digit, 二十五 with tens."""
    if not text or text.isdecimal():
        return int(text) if text else None
    values = [0 if sign in "〇零" else "一二三四五六七八九十".index(sign) + 1 for sign in text]
    if _TEN not in values:
        return int("".join(map(str, values)))
    place = values.index(_TEN)
    tens, ones = values[:place] or [1], values[place + 1 :] or [0]
    return _TEN * tens[0] + ones[0] if len(tens) == len(ones) == 1 else 0
