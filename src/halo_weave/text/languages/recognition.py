"""Recognises languages in Latin script by their commonest words; other scripts tell by themselves."""

from halo_weave.text.languages.folding import folded
from halo_weave.text.languages.known import LANGUAGES
from halo_weave.text.languages.language import Language

LATIN = tuple(language for language in LANGUAGES if language.function_words)
"""The languages that can be recognised; the first is English."""
_LEAST_EVIDENCE = 2
"""Number of different words; one alone is often a name, or part of one."""
_FUNCTION_WORDS = [frozenset(language.function_words.split()) for language in LATIN]
_OTHER_WORDS = frozenset[str]().union(*_FUNCTION_WORDS[1:])


def latin_language(text: str) -> Language | None:
    """Return the language of a text if there is evidence of another one than English, else None."""
    words = frozenset(folded(text).split())
    if words.isdisjoint(_OTHER_WORDS):
        return None
    english, *others = (len(words & own) for own in _FUNCTION_WORDS)
    most = max(others)
    return LATIN[1 + others.index(most)] if most >= _LEAST_EVIDENCE and most > english else None


def unlikely_languages(words: frozenset[str]) -> frozenset[str]:
    """Return the codes of the languages for which these words are clearly less evidence than for another one."""
    counts = [len(words & own) for own in _FUNCTION_WORDS]
    least = max(counts) - _LEAST_EVIDENCE
    return frozenset(language.code for language, count in zip(LATIN, counts, strict=True) if count <= least)
