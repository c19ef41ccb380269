"""Storage and text forms of positions and turns: whole numbers from 0 without an upper limit.

In a database they are keys: bytes that sort in numeric order. In JSON they are decimal text, because JSON readers lose
digits beyond 2^53.
"""

import re

from halo_weave.errors import InputError

_SHORT_LENGTH = 254
_ESCAPE = 255
_LONG_LENGTH_BYTES = 8
_DECIMAL = re.compile(r"0|[1-9][0-9]*", re.ASCII)
# Python by default refuses to convert more than 4,300 digits at once, and can be configured to refuse more than 640.
_DIGITS_AT_ONCE = 600
_MOST_DIGITS = 100_000
"""Limit on input digits, because parsing time grows faster than their number."""
_SHOWN_CHARACTERS = 60


def require_number(number: int) -> None:
    if type(number) is not int:
        raise InputError(f"{_shown(repr(number))} is not a whole number.")
    if number < 0:
        raise InputError(f"-{_shown(_digits(-number))} is negative; positions and turns start at 0.")


def key_of_number(number: int) -> bytes:
    """Return the length in bytes, then the bytes, highest first; 255 means that an 8-byte length follows."""
    require_number(number)
    length = (number.bit_length() + 7) // 8
    body = number.to_bytes(length, "big")
    if length <= _SHORT_LENGTH:
        return bytes((length,)) + body
    return bytes((_ESCAPE,)) + length.to_bytes(_LONG_LENGTH_BYTES, "big") + body


def number_of_key(key: bytes) -> int:
    """Decode a key; accepts only the exact bytes that `key_of_number` produces."""
    length = len(key) - 1
    if 0 <= length <= _SHORT_LENGTH and key[0] == length and not key.startswith(b"\0", 1):
        return int.from_bytes(key[1:], "big")
    number = int.from_bytes(key[1 + _LONG_LENGTH_BYTES :], "big")
    if key_of_number(number) != key:
        raise InputError(f"The key {_shown(key.hex())} is not the key of a number.")
    return number


def text_of_number(number: int) -> str:
    require_number(number)
    return _digits(number)


def number_of_text(text: object) -> int:
    """Parse plain ASCII digits without sign, spaces or leading zeros; rejects anything else."""
    if not isinstance(text, str) or not _DECIMAL.fullmatch(text):
        raise InputError(f"{_shown(repr(text))} is not a whole number of at least 0 in decimal digits.")
    if len(text) > _MOST_DIGITS:
        raise InputError(f"{_shown(text)} has {len(text):,} digits; the limit is {_MOST_DIGITS:,}.")
    return _number(text)


def _digits(number: int) -> str:
    # A digit takes 3.33 bits, so a number of at most this many bits has at most _DIGITS_AT_ONCE digits.
    if number.bit_length() <= _DIGITS_AT_ONCE * 3:
        return str(number)
    low_digits = number.bit_length() * 3 // 20
    high, low = divmod(number, 10**low_digits)
    return _digits(high) + _digits(low).rjust(low_digits, "0")


def _number(digits: str) -> int:
    if len(digits) <= _DIGITS_AT_ONCE:
        return int(digits)
    half = len(digits) // 2
    scale: int = 10 ** (len(digits) - half)
    return _number(digits[:half]) * scale + _number(digits[half:])


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 3] + "..."
