"""LaTeX formulas as MathML, which browsers show without scripts or fonts of ours.

The library passes text on without escaping it, and lets formulas set links, styles and classes. So only its tree of
elements is used: elements and attributes are copied by the lists below, and text is escaped here.
"""

import re
from functools import lru_cache
from html import escape, unescape
from xml.etree.ElementTree import Element

from latex2mathml.converter import Converter

LONGEST_FORMULA = 4_000
LONGEST_MATHML = 100_000
"""Characters."""
_DEEPEST = 60
ELEMENTS = frozenset({
    "math", "menclose", "mfrac", "mi", "mmultiscripts", "mn", "mo", "mover", "mpadded", "mphantom", "mprescripts",
    "mroot", "mrow", "ms", "mspace", "msqrt", "mstyle", "msub", "msubsup", "msup", "mtable", "mtd", "mtext", "mtr",
    "munder", "munderover", "none",
})  # fmt: skip
_WORD = re.compile(r"[a-z -]{1,40}")
_COLOUR = re.compile(r"[a-zA-Z]{1,20}|#[0-9a-fA-F]{3,6}")
_LENGTH = re.compile(r"[+-]?(\d(\.\d{1,3})?|\.\d{1,3})(em|ex|px|pt)?")
"""Short, so that a formula can neither push the page aside nor cover other text."""
_WORDS = (
    "accent", "accentunder", "columnalign", "columnlines", "displaystyle", "fence", "form", "largeop", "linebreak",
    "mathvariant", "movablelimits", "notation", "rowlines", "separator", "stretchy", "symmetric",
)  # fmt: skip
_LENGTHS = (
    "columnspacing", "depth", "height", "linethickness", "lspace", "maxsize", "minsize", "rowspacing", "rspace",
    "voffset", "width",
)  # fmt: skip
ATTRIBUTES = {
    **dict.fromkeys(_WORDS, _WORD),
    **dict.fromkeys(_LENGTHS, _LENGTH),
    "mathcolor": _COLOUR,
    "scriptlevel": re.compile(r"[012]"),
}
_DEFINITION = re.compile(r"\\(?:re|provide)?newcommand|\\[egx]?def\b|\\let\b")
"""A few definitions that use each other can grow without limit."""
_UNKNOWN_COMMAND = re.compile(r"\\[a-zA-Z]+")


@lru_cache(maxsize=64)
def mathml(latex: str, *, is_display: bool) -> str | None:
    """The formula as an element `math`, or None if it is too long or not understood."""
    if len(latex) > LONGEST_FORMULA or not latex.strip() or _DEFINITION.search(latex):
        return None
    try:
        tree = Converter(display="block" if is_display else "inline").convert_to_element(latex)
        content = "".join(_html(child, 0) for child in tree)
    except Exception:  # the library raises errors of many kinds for what it does not understand
        return None
    if len(content) > LONGEST_MATHML:
        return None
    display = ' display="block"' if is_display else ""
    return f'<math{display} alttext="{escape(latex.strip())}">{content}</math>'


class _NotUnderstood(Exception):
    pass


def _html(element: Element, depth: int) -> str:
    text = unescape(element.text or "")
    if depth > _DEEPEST or element.tag not in ELEMENTS or _UNKNOWN_COMMAND.match(text):
        raise _NotUnderstood
    attributes = "".join(
        f' {name}="{escape(value)}"'
        for name, value in element.attrib.items()
        if name in ATTRIBUTES and ATTRIBUTES[name].fullmatch(value)
    )
    content = escape(text) + "".join(_html(child, depth + 1) for child in element)
    return f"<{element.tag}{attributes}>{content}</{element.tag}>"
