"""Tells whether a cut would separate what people read as one character: a letter and its accents, or a joined emoji."""

import unicodedata

_JOINER = "\u200d"
_MODIFIERS = ("\U0001f3fb", "\U0001f3ff")
_TAGS = ("\U000e0020", "\U000e007f")
_LETTERS_OF_FLAGS = ("\U0001f1e6", "\U0001f1ff")
_VOWELS_AND_ENDINGS_OF_HANGUL = ("\u1160", "\u11ff")
_THAI_AND_LAO_VOWELS = "\u0e33\u0eb3"


def is_inside_grapheme(before: str, after: str) -> bool:
    """Whether the place between two texts is inside a character; `before` may be the end of a text only."""
    if not before or not after or before.endswith(("\n", "\r")):
        return before.endswith("\r") and after.startswith("\n")
    first = after[0]
    if unicodedata.category(first)[0] == "M" or first == _JOINER or before.endswith(_JOINER):
        return True
    if first in _THAI_AND_LAO_VOWELS or any(
        low <= first <= high for low, high in (_MODIFIERS, _TAGS, _VOWELS_AND_ENDINGS_OF_HANGUL)
    ):
        return True
    return _is_of_flag(first) and _count_of_flag(before) % 2 == 1


def _is_of_flag(sign: str) -> bool:
    return _LETTERS_OF_FLAGS[0] <= sign <= _LETTERS_OF_FLAGS[1]


def _count_of_flag(text: str) -> int:
    """Count the letters of flags at the end of a text; two make a flag."""
    return next((count for count, sign in enumerate(reversed(text)) if not _is_of_flag(sign)), len(text))
