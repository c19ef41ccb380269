"""What has to be known of a language, as data: one file per language, listed in `known`.

Words are folded (see `folding`): in lower case and without accents. Where a regular expression is expected, several
forms are separated by `|`, and nothing in it may repeat without a limit, because it is applied to untrusted text.
"""

from collections.abc import Mapping
from typing import Literal

import msgspec

TimeUnit = Literal["day", "week", "month", "year"]
Forms = str
"""A regular expression for the forms of a word."""


class DateWords(msgspec.Struct, frozen=True, kw_only=True):
    """How a language names days and months, and times before now.

    `months` are the forms of twelve, separated by commas, or nothing if months are only numbered. A month alone names a
    time after `before_month` or before `after_month`; with a day or a year it always does. `of` may stand between day,
    month and year.

    `days_back` is for words such as "yesterday". Each of `ago` contains `{count}`, or `{count}?` if one need not be
    said, and `{unit}`; the count is digits or one of `numbers`, which start at one. `pairs` are units in the dual.
    `last` is for "last week" and the like. Months, units, and the words of the others are written out,
    because only a text with one of them is searched for times.
    """

    months: str = ""
    before_month: Forms = ""
    after_month: Forms = ""
    of: Forms = ""
    ordinal: Forms = r"\.?"
    days_back: Mapping[Forms, int] = {}
    numbers: tuple[Forms, ...] = ()
    units: Mapping[TimeUnit, Forms] = {}
    pairs: Mapping[TimeUnit, Forms] = {}
    ago: tuple[Forms, ...] = ()
    last: Mapping[TimeUnit, Forms] = {}


class WishWords(msgspec.Struct, frozen=True, kw_only=True):
    """How a language words a lasting wish: what may begin such a sentence, and what makes one wherever it stands."""

    begins: tuple[Forms, ...] = ()
    contains: tuple[Forms, ...] = ()


class Language(msgspec.Struct, frozen=True, kw_only=True):
    """`code` is ISO 639-1. `has_spaces` tells whether words are separated.

    `stemmer` names the Snowball algorithm of a language in Latin script. `function_words`, separated by spaces, are
    words that most texts in it have and English texts have not; they tell the language.
    """

    code: str
    has_spaces: bool = True
    stemmer: str | None = None
    function_words: str = ""
    dates: DateWords = DateWords()
    wishes: WishWords = WishWords()
