"""Detects lasting wishes: how a user wants to be answered, and what the user prefers.

Few questions share words with a wish that applies to them: "Always name the source when I ask about figures." Only
plain English wishes are recognised; a description of what always happens is not a wish.
"""

import re

# Only spaces up to a line feed, which begins a sentence itself; otherwise each of many blank lines would scan all
# others.
_BEGINNING = r"(?:^|[.!?\n])[^\S\n]*(?:\w+:\s*)?(?:(?:please|and|so|but|also),?\s+)?"
_NO_ORDER = (
    r"(?!(?:(?!bring|sing|feed|embed|heed|proceed)\w+(?:ing|ed)|been|had|seen|heard|met|done|was|were|is|are|a|an|the|in|"
    r"on|at|by|up|so|my|your|our|this|that|good|great|nice|fun|here|there|happy|glad|ready|mind|know|knew|thought|love|"
    r"better|too|more|again)\b)"
)
"""Words after "always" or "never" that make it no wish: "always happy to help", "never been there"."""
_ORDER = re.compile(
    rf"{_BEGINNING}(?:(?:always|never)\s+{_NO_ORDER}\w"
    r"|(?:whenever|(?:each|every|any)\s?time|when|if) i (?:ask|mention|tell you|write|say)\b"
    r"|(?:remember|keep in mind|don['’]t forget|do not forget) (?:that )?(?:i|my|we|our)\b"
    r"|make sure (?:that )?you\b|(?:don['’]t|do not) ever\b)"
    r"|\bfrom now on\b",
    re.IGNORECASE,
)
_PREFERENCE = re.compile(
    r"\bi(?:['’]d| would)?(?: \w+ly| always| much| also)* prefer\b|\bi(?: want| need| would like|['’]d like) you to\b",
    re.IGNORECASE,
)


def is_wish(text: str) -> bool:
    return bool(_ORDER.search(text) or _PREFERENCE.search(text))
