"""The words of a question that are worth searching for."""

import itertools
import math
from typing import NamedTuple

from halo_weave.memory.store.protocol import Store
from halo_weave.text.languages.words import is_piece, terms_of

_NEVER_COMMON = 50
"""A word in at most this many chunks never counts as common, however small the memory."""
_COMMON_SHARE = 0.5
"""BM25 itself gives no weight to words that occur in more than half of all chunks."""
_WEIGHT_OF_PIECE = 0.5
_MOST_READ = 400_000
"""Limit on the chunks that contain a question's words, in total; more would make search in a large memory too slow."""


class Term(NamedTuple):
    """A word and its weight.

    `share` is the fraction of all chunks that contain it; never 0, because the next chunk may contain it. `weight` is
    its significance, independent of the memory's size: 1 for a word in a single chunk, near 0 for a word in every
    chunk. Overlapping pieces of a word, in scripts without spaces, count half.
    """

    text: str
    share: float
    weight: float


class TellingTerms:
    """Selects the distinctive words of a question.

    Drops words that occur in more than `largest_share` of all chunks. In a large memory it also drops the commonest of
    the rest until the limit is met: they cost the most and say the least.
    """

    def __init__(self, store: Store, largest_share: float = _COMMON_SHARE) -> None:
        self._store = store
        self._largest_share = largest_share

    def of(self, text: str) -> list[Term]:
        """Return the distinctive terms, or all terms if every one is common or unknown."""
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
    weight = _WEIGHT_OF_PIECE if is_piece(text) else 1.0
    return Term(text, having / chunks, weight * (1 - math.log(having) / math.log(chunks + 1)))
