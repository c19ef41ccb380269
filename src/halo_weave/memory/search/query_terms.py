"""The words of a question that are worth looking for."""

import itertools
import math
import unicodedata
from typing import NamedTuple

from halo_weave.memory.store.protocol import Store

_KINDS_IN_WORDS = "LNM"
"""Letters, numbers and the marks on them, which many scripts write their vowels with."""
_NEVER_COMMON = 50
"""Chunks that a word may have in the smallest memory."""
_COMMON_SHARE = 0.5
"""BM25 itself gives nothing to words that more than half of all chunks have."""
_MOST_READ = 400_000
"""Chunks that the words of one question may have in all: with more, searching a large memory takes too long."""


def terms_of(text: str) -> list[str]:
    """The text's words in order, without regard to case, each once."""
    spaced = "".join(letter if unicodedata.category(letter)[0] in _KINDS_IN_WORDS else " " for letter in text)
    return list(dict.fromkeys(spaced.casefold().split()))


class Term(NamedTuple):
    """`share` is how many of all chunks have it, as a part of 1; never 0, as the next chunk may have it. `weight` is
    what finding it says, in a memory of any size: 1 for a word of a single chunk, near 0 for a word of all."""

    text: str
    share: float
    weight: float


class TellingTerms:
    """Leaves out the words that more than this share of all chunks have, and in a large memory as many of the commonest
    as it takes: they cost the most and say the least."""

    def __init__(self, store: Store, largest_share: float = _COMMON_SHARE) -> None:
        self._store = store
        self._largest_share = largest_share

    def of(self, text: str) -> list[Term]:
        """All words of the text if each is common or unknown."""
        terms = terms_of(text)
        counts = self._store.count_words(terms)
        most = max(_NEVER_COMMON, int(self._largest_share * counts.chunks))
        having = dict(zip(terms, counts.having, strict=True))
        telling = [term for term in terms if 0 < having[term] <= most]
        rarest = sorted(telling, key=lambda term: having[term])
        read = list(itertools.accumulate(having[term] for term in rarest))
        affordable = {*rarest[:1], *(term for term, total in zip(rarest, read, strict=True) if total <= _MOST_READ)}
        chosen = [term for term in telling if term in affordable] or terms
        return [_term(term, having[term] or 1, max(counts.chunks, 1)) for term in chosen]


def _term(text: str, having: int, chunks: int) -> Term:
    having = min(having, chunks)
    return Term(text, having / chunks, 1 - math.log(having) / math.log(chunks + 1))
