"""Folds away what people write or leave out as they like: case, accents, vowel points, and the script of digits.

Marks that make another letter of the same script are kept, as in Hindi, Thai and Japanese, and the breve of й.
"""

import re
import unicodedata

MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0711\u0730-\u074a\u07a6-\u07b0\u0900-\u0903\u093a-\u094f"
    "\u0951-\u0957\u0962\u0963\u0981-\u0983\u09bc-\u09cd\u09d7\u0a01-\u0a03\u0a3c-\u0a51\u0a70\u0a71\u0a75\u0a81-\u0a83"
    "\u0abc-\u0acd\u0b01-\u0b03\u0b3c-\u0b57\u0b82\u0bbe-\u0bcd\u0bd7\u0c00-\u0c04\u0c3c-\u0c56\u0c81-\u0c83"
    "\u0cbc-\u0cd6\u0d00-\u0d03\u0d3b-\u0d4d\u0d57\u0d81-\u0d83\u0dca-\u0df3\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1"
    "\u0eb4-\u0ebc\u0ec8-\u0ece\u0f71-\u0f84\u0f8d-\u0fbc\u102b-\u103e\u1056-\u1059\u135d-\u135f\u17b4-\u17d3"
    "\u200c\u200d\u3099\u309a"
)
"""Marks and joiners that are part of a word, for use in a character class. Python's `\\w` lacks them."""

_UNWRITTEN = re.compile(
    "(?<![\u0400-\u052f])[\u0300-\u036f]+|(?<=\u0435)\u0308|[\u0300\u0301]"
    "|[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed\u200c\u200d]"
)
"""Accents of letters that are not Cyrillic, the dots of ё, stress marks, Hebrew and Arabic vowel points, joiners."""
_LONG_RUN_OF_SIGNS = re.compile(r"([^\w\s\x00-\x7f]{30})[^\w\s\x00-\x7f]+")
"""No letter has 30 marks, and the time that Python takes to order them grows with the square of their number."""
_ZEROS = (
    0x660,
    0x6F0,
    0x966,
    0x9E6,
    0xA66,
    0xAE6,
    0xB66,
    0xBE6,
    0xC66,
    0xCE6,
    0xD66,
    0xE50,
    0xED0,
    0xF20,
    0x1040,
    0x17E0,
)
_SAME_LETTER = str.maketrans(
    {chr(zero + digit): str(digit) for zero in _ZEROS for digit in range(10)}
    | dict(zip("øđðłıħŧæœþ", ("o", "d", "d", "l", "i", "h", "t", "ae", "oe", "th"), strict=True))
    | {"ى": "ي", "ی": "ي", "ک": "ك"}
)


def folded(text: str) -> str:
    """Return the text as everybody would type it; folding it again changes nothing."""
    if text.isascii():
        return text.lower()
    composed = unicodedata.normalize("NFKC", _LONG_RUN_OF_SIGNS.sub(r"\1", text)).casefold()
    bare = _UNWRITTEN.sub("", unicodedata.normalize("NFD", composed))
    return unicodedata.normalize("NFC", bare).translate(_SAME_LETTER)
