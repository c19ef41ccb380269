"""Detects lasting wishes: how a user wants to be answered, and what the user prefers.

Few questions share words with a wish that applies to them: "Always name the source when I ask about figures." Only
plain wishes in the known languages are recognised; a description of what always happens is not a wish.
"""

import re
from functools import cache

from halo_weave.text.languages.folding import MARKS, folded
from halo_weave.text.languages.known import LANGUAGES
from halo_weave.text.languages.recognition import LATIN

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

_ENDS_OF_SENTENCES = ".!?\n。।؟¡¿"
_POLITE_BEGINNINGS = (
    "bitte|und|also|por favor|y|s'il te plait|s'il vous plait|et|per favore|e|пожалуйста|и|من فضلك|رجاء|و|कृपया|और|"
    "请|請|그리고|부디|กรุณา|โปรด"
)


def is_wish(text: str) -> bool:
    if _ORDER.search(text) or _PREFERENCE.search(text):
        return True
    plain = folded(text).replace("’", "'")
    return any(pattern.search(plain) for pattern in _patterns(is_latin=plain.isascii()))


@cache
def _patterns(*, is_latin: bool) -> list[re.Pattern[str]]:
    """Return patterns for folded texts, in which nothing repeats without a limit."""
    wishes = [language.wishes for language in (LATIN if is_latin else LANGUAGES) if language.wishes.begins]
    begins = "|".join(form for one in wishes for form in one.begins)
    speaker, polite = rf"(?:[\w{MARKS}]{{1,30}}: ?)?", f"(?:(?:{_POLITE_BEGINNINGS}),? {{0,2}})?"
    return [
        re.compile(rf"(?:^|[{_ENDS_OF_SENTENCES}])[^\S\n]{{0,8}}{speaker}{polite}(?:{begins})"),
        re.compile("|".join(form for one in wishes for form in one.contains)),
    ]
