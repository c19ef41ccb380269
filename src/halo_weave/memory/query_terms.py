"""The words of a question that are worth looking for."""

import unicodedata

from halo_weave.memory.store import Store

_KINDS_IN_WORDS = "LNM"
"""Letters, numbers and the marks on them, which many scripts write their vowels with."""
_NEVER_COMMON = 50
"""Chunks that a word may have in the smallest memory."""


def terms_of(text: str) -> list[str]:
    """The text's words in order, without regard to case, each once."""
    spaced = "".join(letter if unicodedata.category(letter)[0] in _KINDS_IN_WORDS else " " for letter in text)
    return list(dict.fromkeys(spaced.casefold().split()))


class TellingTerms:
    """Leaves out the words that more than this share of all chunks have: they cost the most and say the least."""

    def __init__(self, store: Store, largest_share: float) -> None:
        self._store = store
        self._largest_share = largest_share

    def of(self, text: str) -> list[str]:
        """All words of the text if each is common or unknown."""
        terms = terms_of(text)
        counts = self._store.count_words(terms)
        most = max(_NEVER_COMMON, int(self._largest_share * counts.chunks))
        telling = [term for term, count in zip(terms, counts.having, strict=True) if 0 < count <= most]
        return telling or terms
