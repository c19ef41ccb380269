"""Who speaks, where a text says so itself: chats of several people and stories have names before what is said."""

import re

LONGEST = 40
_NAME = re.compile(r"\s*([^\W\d_][^\n:]{0,30}?)\s*:\s")
_MOST_WORDS = 3


def speaker_of(opening: str) -> str | None:
    """The name before the colon with which a turn begins; `opening` need not be longer than `LONGEST`."""
    found = _NAME.match(opening)
    return found[1] if found and len(found[1].split()) <= _MOST_WORDS else None
