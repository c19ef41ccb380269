"""The names that windows get by themselves: from the first message, by rule, without asking the model."""

import re
from collections.abc import Collection

UNTITLED = "New window"
_LONGEST = 48
_FILE = re.compile(r"^Attached file: .*\n(`{3,}|~{3,}).*\n[\s\S]*?\n\1\s*$", re.MULTILINE)
_MARKUP = re.compile(r"^[\s>#*_`~\-+]+|[*_`~]+")
_SENTENCE_END = re.compile(r"(?<=[^\W\d_]{2})[.!?](?=\s)|[。！？]")
_SEVERAL_WORDS = re.compile(r"\w\W+\w|\w{4,}[。！？]")
"""A greeting of one word is no title. Where words are not separated by spaces, four characters are several words."""


def title_of(message: str) -> str:
    """The first sentence that has words, cut at a word if it is long; empty if the message has no words.

    Attached files do not count, unless there is nothing else.
    """
    lines = (_MARKUP.sub("", line) for text in (_FILE.sub("", message), message) for line in text.splitlines())
    line = next((one for one in lines if re.search(r"\w", one)), "")
    line = "".join(sign if sign.isprintable() else " " for sign in line)
    ends = (match.end() for match in _SENTENCE_END.finditer(line))
    sentence = line[: next((end for end in ends if _SEVERAL_WORDS.search(line[:end])), len(line))]
    return _cut(" ".join(sentence.split()).rstrip(" .,:;!。！"))


def free_name(wanted: str, taken: Collection[str]) -> str:
    """The name itself, or the first of "name 2", "name 3" and so on that no window has."""
    name, number = wanted, 1
    while name in taken:
        number += 1
        name = f"{wanted} {number}"
    return name


def _cut(title: str) -> str:
    if len(title) <= _LONGEST:
        return title
    head = title[: _LONGEST - 1]
    at_word = head.rpartition(" ")[0]
    return f"{(at_word if len(at_word) > _LONGEST // 2 else head).rstrip(' .,:;-')}…"
