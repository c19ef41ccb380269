"""What a chunk is worth keeping for: how much it says that nothing else says, by whom, how bright it is, and whether a
user wished it to hold from now on.

Attention tells what the model needed so far; questions that come later are about what was said once, with names and
numbers, and by whoever says little. Each part is free when a context is pruned and is compared within it: wishes apart
there are no lists of words, and nothing is known of the language but that names begin with capitals where it has them.
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

Worths = NDArray[np.float64]

NOVELTY, NAMES, SPEAKER, BRIGHTNESS, WISHES = 1.0, 0.25, 2.5, 0.1, 3.0
"""What each part weighs; docs/brightness.md has the figures."""
WISHES_SHARE = 1 / 8
"""Of the context's tokens: more wishes than that are no reason to stay."""

_NUMBER = re.compile(r"\b[^\W\d]*\d\w*")
_INSIDE_SENTENCE = re.compile(r"(?<=[\w,;&] )[^\W\d_]\w+")


class WorthInput(NamedTuple):
    """A chunk as far as its worth goes: its tokens' texts, and the brightness of the brightest."""

    role: Role
    texts: tuple[str, ...]
    peak: float


class _Content(NamedTuple):
    """What never changes of a chunk."""

    words: frozenset[str]
    names: int
    is_wish: bool


def worths(context: Sequence[WorthInput]) -> Worths:
    """Of the chunks of a context, which are in order; 0 is ordinary."""
    return sum((part(context) for part in PARTS.values()), np.zeros(len(context)))


def standing(values: Worths) -> Worths:
    """By how many standard deviations each differs from the mean; 0 for all if they are all alike."""
    spread = float(values.std()) if len(values) else 0.0
    return (values - values.mean()) / spread if spread > 1e-12 else np.zeros(len(values))


def novelty(context: Sequence[WorthInput]) -> Worths:
    """Words that nothing before it has, and words that few others have, for the root of its length.

    Long chunks have more of them and cost more; the root is between counting and density.
    """
    words = [_content(said.texts).words for said in context]
    chunks_with = Counter(word for one in words for word in one)
    known: set[str] = set()
    values = []
    for said, own in zip(context, words, strict=True):
        rare = math.fsum(1 / chunks_with[word] for word in own)  # the same in whatever order a set has them
        values.append((len(own - known) + rare) / math.sqrt(max(1, len(said.texts))))
        known |= own
    return np.array(values)


def names(context: Sequence[WorthInput]) -> Worths:
    """Capitalised words inside sentences, and words with digits: names, dates, amounts. For the root of its length."""
    return np.array([_content(said.texts).names / math.sqrt(max(1, len(said.texts))) for said in context])


def scarcity(context: Sequence[WorthInput]) -> Worths:
    """− log of the share of the tokens that are its role's: who says little, says what was not said by the other.

    Where both say the same amount, nobody is ahead.
    """
    tokens: Counter[Role] = Counter()
    for said in context:
        tokens[said.role] += len(said.texts)
    total = tokens.total()
    return np.array([-math.log(tokens[said.role] / total) if tokens[said.role] else 0.0 for said in context])


def brightness(context: Sequence[WorthInput]) -> Worths:
    """The rank of its peak, because scorers differ in what their numbers mean."""
    return middle_ranks(np.array([said.peak for said in context], dtype=np.float64))


def wishes(context: Sequence[WorthInput]) -> Worths:
    """1 for the newest wishes of users that fill no more than their share of the context, 0 for all else."""
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
"""What the worth is the sum of."""


def middle_ranks(values: Worths) -> Worths:
    """From 1 for the lowest on; equals share the middle of theirs."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    middles = np.cumsum(counts) - (counts - 1) / 2
    return np.asarray(middles[places], dtype=np.float64)


@functools.lru_cache(maxsize=1024)
def _content(texts: tuple[str, ...]) -> _Content:
    """Remembered, because most of a context is the same at each turn; a chunk of 64 tokens takes some 10 KB here."""
    words = frozenset(word for text in texts if _holds_word(word := text.strip().lower()))
    whole = "".join(texts)
    return _Content(words, _names_in(whole), is_wish(whole))


def _holds_word(text: str) -> bool:
    return any(map(str.isalnum, text))


def _names_in(text: str) -> int:
    capitalised = sum(found.group()[0].isupper() for found in _INSIDE_SENTENCE.finditer(text))
    return capitalised + sum(1 for _ in _NUMBER.finditer(text))
