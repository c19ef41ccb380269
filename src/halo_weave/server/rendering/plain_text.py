"""Untrusted text as HTML that shows only the text."""

import re
from html import escape

BIDI = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Characters that change the direction of the text after them."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_HALVES = re.compile("[\ud800-\udfff]")


def plain(text: str) -> str:
    """The text as written, without Markdown."""
    return f'<div class="unformatted">{isolated(readable(text))}</div>'


def readable(text: str) -> str:
    """Normalise line ends to line feeds, make control characters visible, and replace unpaired surrogates."""
    text = _HALVES.sub("\ufffd", text)
    return _CONTROL.sub(_sign, text.replace("\r\n", "\n").replace("\r", "\n"))


def _sign(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"\u2039U+{code:04X}\u203a"


def isolated(text: str) -> str:
    """Escape a text, and isolate it if it could change the direction of its surroundings."""
    return f"<bdi>{escape(text)}</bdi>" if BIDI.search(text) else escape(text)
