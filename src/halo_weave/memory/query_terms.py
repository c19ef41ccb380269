"""The words of a question that are worth looking for."""

import unicodedata

from halo_weave.memory.store import Store

_KINDS_IN_WORDS = "LNM"
"""Letters, numbers and the marks on them, which many scripts write their vowels with."""
_NEVER_COMMON = 50
"""Chunks that a word may have in the smallest memory."""
_STALE_AFTER_GROWTH = 1.1


def terms_of(text: str) -> list[str]:
    """The text's words in order, without regard to case, each once."""
    spaced = "".join(letter if unicodedata.category(letter)[0] in _KINDS_IN_WORDS else " " for letter in text)
    return list(dict.fromkeys(spaced.casefold().split()))


class TellingTerms:
    """Leaves out the words that more than this share of all chunks have: they cost the most and say the least.

    A word is counted once, and again when the memory has grown by a tenth.
    """

    def __init__(self, store: Store, largest_share: float) -> None:
        self._store = store
        self._largest_share = largest_share
        self._counted_at = -1
        self._most_chunks = 0
        self._counts: dict[str, int] = {}

    def of(self, text: str) -> list[str]:
        """All words of the text if each is common or unknown."""
        self._forget_if_stale()
        terms = terms_of(text)
        counts = [self._count(term) for term in terms]
        telling = [term for term, count in zip(terms, counts, strict=True) if 0 < count <= self._most_chunks]
        return telling or terms

    def _forget_if_stale(self) -> None:
        change = self._store.change_number()
        if self._counted_at <= change <= _STALE_AFTER_GROWTH * self._counted_at:
            return
        stats = self._store.stats()
        self._most_chunks = max(_NEVER_COMMON, int(self._largest_share * (stats.chunks - stats.deleted_chunks)))
        self._counts = {}
        self._counted_at = change

    def _count(self, term: str) -> int:
        """How many chunks have the term, as far as it matters. What is not there yet is looked for again."""
        count = self._counts.get(term, 0)
        if not count:
            count = len(self._store.search_words([term], self._most_chunks + 1))
            self._counts[term] = count
        return count
