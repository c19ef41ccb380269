"""Computes how much a chunk is worth keeping: how much it says that no other chunk says, who said it, how bright it is,
and whether it states a user's standing wish.

Attention shows what the model has needed so far. Later questions are about things that were said once, with names and
numbers, and by the speaker who says little. All parts are cheap to compute when a context is pruned, and are relative
to that context. There are no word lists except for wishes, and no knowledge of the language except where its words end
and that names start with capitals in scripts that have them.
"""

import functools
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from halo_weave.records.roles import Role
from halo_weave.text.languages.wishes import is_wish
from halo_weave.text.languages.words import is_mostly_cased, is_mostly_latin, terms_of

Worths = NDArray[np.float64]

NOVELTY, NAMES, SPEAKER, BRIGHTNESS, WISHES = 1.0, 0.25, 2.5, 0.1, 3.0
"""The weight of each part; docs/brightness.md has the figures."""
WISHES_SHARE = 1 / 8
"""Share of the context's tokens; wishes beyond it get no bonus."""

_NUMBER = re.compile(r"\b[^\W\d]*\d\w*")
_DIGITS = re.compile(r"\d+")
_INSIDE_SENTENCE = re.compile(r"(?<=[\w,;&] )[^\W\d_]\w+")


class WorthInput(NamedTuple):
    """The parts of a chunk that its worth depends on: the texts of its tokens and its peak brightness."""

    role: Role
    texts: tuple[str, ...]
    peak: float


class _Content(NamedTuple):
    """The properties of a chunk that never change."""

    words: frozenset[str]
    capitalised: int
    numbers: int
    has_capitals: bool
    is_wish: bool


def worths(context: Sequence[WorthInput]) -> Worths:
    """The worth of each chunk of a context, which must be in order; 0 is average."""
    return sum((part(context) for part in PARTS.values()), np.zeros(len(context)))


def standing(values: Worths) -> Worths:
    """The deviation of each value from the mean in standard deviations; all 0 if the values are equal."""
    spread = float(values.std()) if len(values) else 0.0
    return (values - values.mean()) / spread if spread > 1e-12 else np.zeros(len(values))


def novelty(context: Sequence[WorthInput]) -> Worths:
    """Words that no earlier chunk has, plus words that few other chunks have, divided by the square root of the length.

    Long chunks have more such words but cost more. The square root is a compromise between count and density.
    """
    words = [_content(said.texts).words for said in context]
    chunks_with = Counter(word for one in words for word in one)
    known: set[str] = set()
    values = []
    for said, own in zip(context, words, strict=True):
        rare = math.fsum(1 / chunks_with[word] for word in own)  # fsum, so that the set's order does not matter
        values.append((len(own - known) + rare) / math.sqrt(max(1, len(said.texts))))
        known |= own
    return np.array(values)


def names(context: Sequence[WorthInput]) -> Worths:
    """Capitalised words inside sentences and words with digits (names, dates, amounts), per square root of length.

    Names cannot be seen in a script without capitals; a chunk in one is taken to have as many as others on average.
    """
    contents = [_content(said.texts) for said in context]
    lengths = np.sqrt([max(1, len(said.texts)) for said in context])
    capitalised = np.array([content.capitalised for content in contents]) / lengths
    has_capitals = np.array([content.has_capitals for content in contents], dtype=bool)
    if has_capitals.any():
        capitalised[~has_capitals] = capitalised[has_capitals].mean()
    values: Worths = capitalised + np.array([content.numbers for content in contents]) / lengths
    return values


def scarcity(context: Sequence[WorthInput]) -> Worths:
    """− log of the role's share of the tokens: the speaker who says little says what the other did not.

    If both say the same amount, both get the same value.
    """
    tokens: Counter[Role] = Counter()
    for said in context:
        tokens[said.role] += len(said.texts)
    total = tokens.total()
    return np.array([-math.log(tokens[said.role] / total) if tokens[said.role] else 0.0 for said in context])


def brightness(context: Sequence[WorthInput]) -> Worths:
    """The rank of the peak brightness, because scorers use different scales."""
    return middle_ranks(np.array([said.peak for said in context], dtype=np.float64))


def wishes(context: Sequence[WorthInput]) -> Worths:
    """1 for the users' newest wishes that fit in their share of the context, 0 for all other chunks."""
    left = WISHES_SHARE * sum(len(said.texts) for said in context)
    values = np.zeros(len(context))
    for place, said in reversed(list(enumerate(context))):
        if said.role == "user" and len(said.texts) <= left and _content(said.texts).is_wish:
            left -= len(said.texts)
            values[place] = 1.0
    return values


PARTS: Mapping[str, Callable[[Sequence[WorthInput]], Worths]] = {
    "novelty": lambda context: NOVELTY * standing(novelty(context)),
    "names": lambda context: NAMES * standing(names(context)),
    "speaker": lambda context: SPEAKER * scarcity(context),
    "brightness": lambda context: BRIGHTNESS * standing(brightness(context)),
    "wishes": lambda context: WISHES * wishes(context),
}
"""The worth is the sum of these parts."""


def middle_ranks(values: Worths) -> Worths:
    """Ranks that start at 1 for the lowest value; equal values share their middle rank."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    middles = np.cumsum(counts) - (counts - 1) / 2
    return np.asarray(middles[places], dtype=np.float64)


@functools.lru_cache(maxsize=1024)
def _content(texts: tuple[str, ...]) -> _Content:
    """Cached, because most of a context is the same in every turn; a chunk of 64 tokens takes about 10 KB here."""
    whole = "".join(texts)
    # A model's tokens are words in the languages that it has read most. Elsewhere they are syllables or less.
    if is_mostly_latin(whole):
        words = frozenset(word for text in texts if _holds_word(word := text.strip().lower()))
    else:
        words = frozenset(terms_of(whole))
    has_capitals = is_mostly_cased(whole)
    capitalised = sum(found.group()[0].isupper() for found in _INSIDE_SENTENCE.finditer(whole))
    numbers = sum(1 for _ in (_NUMBER if has_capitals else _DIGITS).finditer(whole))
    return _Content(words, capitalised, numbers, has_capitals, is_wish(whole))


def _holds_word(text: str) -> bool:
    return any(map(str.isalnum, text))
