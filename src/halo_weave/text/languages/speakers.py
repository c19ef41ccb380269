"""Finds the speaker that a text itself names: group chats and stories put a name before what is said."""

import re

LONGEST = 40
_NAME = re.compile(r"\s*([^\W\d_][^\n:：]{0,30}?)\s*(?::\s|：)")
_MOST_WORDS = 3


def speaker_of(opening: str) -> str | None:
    """Return the name before the colon at the beginning of a turn; `opening` need not be longer than `LONGEST`."""
    found = _NAME.match(opening)
    return found[1] if found and len(found[1].split()) <= _MOST_WORDS else None
