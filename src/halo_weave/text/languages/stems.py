"""Reduces words to their stems, so that one form of a word finds the others.

The script tells the language of most words. In Latin script it does not, and English, which is most common, is stemmed
by the word index itself. A text in another language of that script is recognised by its commonest words, and the stems
of its words are marked, so that neither are they stemmed again nor mistaken for English. A question is too short for
that: its words are looked for in every language that the memory has. So a word in the same form is always found, and
another form of it wherever the language was recognised.
"""

import threading
from functools import lru_cache

import Stemmer

from halo_weave.text.languages.language import Language
from halo_weave.text.languages.recognition import LATIN

MARK = "\ue001"
"""Ends marked stems: a private character, which the word index takes for a letter."""
_MOST_REMEMBERED = 16_384

_STEMMERS_OF_SCRIPTS = (
    ("\u0370", "\u03ff", "greek"),
    ("\u0400", "\u052f", "russian"),
    ("\u0531", "\u0587", "armenian"),
    ("\u0620", "\u06ff", "arabic"),
    ("\u0900", "\u097f", "hindi"),
    ("\u0b80", "\u0bff", "tamil"),
)
STEMMED = tuple(language for language in LATIN if language.stemmer)
"""The languages in Latin script that are stemmed here."""
_STEMMER_OF = {language.code: language.stemmer for language in STEMMED}
_own = threading.local()  # a stemmer is not thread-safe


def tag_of(language: Language) -> str:
    """Return the word by which the index tells that it contains texts in this language."""
    return f"{MARK}{language.code}{MARK}"


def stem(word: str, language: Language | None) -> str:
    """Return the stem of a folded word; a word in Latin script is stemmed only in a given language."""
    first = word[0]
    for start, end, name in _STEMMERS_OF_SCRIPTS:
        if start <= first <= end:
            return _stem(word, name)
    if language is None or first > "\u024f" or not word.isalpha():
        return word
    return _stem(word, _STEMMER_OF[language.code] or "") + MARK


@lru_cache(_MOST_REMEMBERED)
def _stem(word: str, name: str) -> str:
    if not hasattr(_own, name):
        setattr(_own, name, Stemmer.Stemmer(name, 0))
    stemmed: str = getattr(_own, name).stemWord(word)
    return stemmed or word
