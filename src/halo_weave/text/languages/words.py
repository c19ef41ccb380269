"""The words of a text, in any script, as the word index and its questions have them.

Scripts without spaces are cut into overlapping pairs of characters, which need no dictionary and find a word wherever
it stands in a run. A Chinese character is often a word of its own, so single ones count too; so does the first syllable
of a Korean word, because endings are written together with it. In Southeast Asian scripts a character includes its
vowel signs and tone marks.
"""

import itertools
import re
from collections.abc import Iterator, Sequence, Set

from halo_weave.text.languages.folding import MARKS, folded
from halo_weave.text.languages.language import Language
from halo_weave.text.languages.recognition import latin_language
from halo_weave.text.languages.stems import stem, tag_of

_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_KANA = "\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
_HANGUL = "\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3"
_SOUTHEAST_ASIAN = "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u0edc-\u0edf\u1000-\u103f\u1050-\u109d\u1780-\u17d3"

_WORD = re.compile(rf"(?:[^\W_]|[{MARKS}])+")
_VARIATIONS = re.compile("[\ufe00-\ufe0f]+")
_WITHOUT_SPACES = re.compile(f"[{_HAN}{_KANA}{_HANGUL}{_SOUTHEAST_ASIAN}]")
_RUN = re.compile(
    f"(?P<east>[{_HAN}{_KANA}]+)|(?P<korean>[{_HANGUL}]+)|(?P<south>[{_SOUTHEAST_ASIAN}]+)"
    f"|[^{_HAN}{_KANA}{_HANGUL}{_SOUTHEAST_ASIAN}]+"
)
_LATIN, _CASED = "A-Za-z\u00c0-\u024f\u1e00-\u1eff", "\u0370-\u052f\u0531-\u0587\u10a0-\u10ff\u1f00-\u1fff"
_LATIN_LETTER, _CASED_LETTER = re.compile(f"[{_LATIN}]"), re.compile(f"[{_LATIN}{_CASED}]")
_OTHER_LETTER = re.compile(rf"[^\W\d_{_LATIN}]")
_UNCASED_LETTER = re.compile(rf"[^\W\d_{_LATIN}{_CASED}]")
_IDEOGRAPH = re.compile(f"[{_HAN}]")
_CLUSTER = re.compile(f".[{MARKS}]*")


def terms_of(text: str) -> list[str]:
    """Return the words of a question in order, folded and without duplicates."""
    return list(dict.fromkeys(term for word in _folded_words(text) for term in _terms(word)))


def indexed_text(text: str) -> str:
    """Return what the word index reads of a text. A change of its result requires a migration of the memory."""
    language = latin_language(text)
    if language is None and text.isascii():
        return text
    pieces: list[str] = []
    single: list[str] = []
    for word in _WORD.findall(_VARIATIONS.sub("", text)):
        if language is None and word.isascii():
            pieces.append(word)
            continue
        for part in _WORD.findall(folded(word)):
            pieces.extend(_pieces(part, language))
            single.extend(_single_characters(part))
    # Single characters and the tag stand at the end, so that phrases keep their order.
    return " ".join((*pieces, *single, *(() if language is None else (tag_of(language),))))


def phrases_of(term: str, languages: Sequence[Language]) -> list[str]:
    """Return the forms in which the index may have a term, in English and in these languages."""
    if not languages and term.isascii() and term.isalnum():
        return [term]
    words = _folded_words(term)
    forms = (" ".join(piece for word in words for piece in _pieces(word, one)) for one in (None, *languages))
    return [form for form in dict.fromkeys(forms) if form]


def is_piece(term: str) -> bool:
    """Whether a term is only a part of a word or of several: one or two characters of a script without spaces."""
    return _WITHOUT_SPACES.match(term) is not None


def names_in(terms: Set[str], name: str) -> bool:
    """Whether terms of a question contain one of the words of a name."""
    return any(terms >= frozenset(_pieces(word, None, is_stemmed=False)) for word in _folded_words(name))


def is_mostly_latin(text: str) -> bool:
    return text.isascii() or len(_LATIN_LETTER.findall(text)) >= len(_OTHER_LETTER.findall(text))


def is_mostly_cased(text: str) -> bool:
    """Whether most letters are of a script that distinguishes capitals."""
    return text.isascii() or len(_CASED_LETTER.findall(text)) >= len(_UNCASED_LETTER.findall(text))


def _folded_words(text: str) -> list[str]:
    """Folding may split a word, as a fraction or a ligature does."""
    return [word for found in _WORD.findall(_VARIATIONS.sub("", text)) for word in _WORD.findall(folded(found))]


def _terms(word: str) -> Iterator[str]:
    yield from _pieces(word, None, is_stemmed=False)
    yield from _single_characters(word)


def _pieces(word: str, language: Language | None, *, is_stemmed: bool = True) -> Iterator[str]:
    """Cut a folded word into what the index has of it, except single characters."""
    if not _WITHOUT_SPACES.search(word):
        yield stem(word, language) if is_stemmed else word
        return
    for run in _RUN.finditer(word):
        if run.lastgroup is None:
            yield stem(run[0], language) if is_stemmed else run[0]
        else:
            yield from _pairs(_CLUSTER.findall(run[0]) if run.lastgroup == "south" else run[0])


def _pairs(characters: Sequence[str]) -> Iterator[str]:
    if len(characters) == 1:
        yield characters[0]
    for first, second in itertools.pairwise(characters):
        yield first + second


def _single_characters(word: str) -> Iterator[str]:
    for run in _RUN.finditer(word):
        if len(run[0]) > 1 and run.lastgroup == "east":
            yield from _IDEOGRAPH.findall(run[0])
        elif len(run[0]) > 1 and run.lastgroup == "korean":
            yield run[0][0]
