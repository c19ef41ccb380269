"""Tells plain text from JSON in what a person typed where both are welcome."""

import msgspec

_BEGINNINGS = ("{", "[", '"')


def is_plain_text(text: str) -> bool:
    """Whether a text is meant as it stands: it is not JSON, and does not begin like an object, a list or a string.

    A text that begins like one of these and is not valid JSON has a mistake in it, which must be reported.
    """
    stripped = text.strip()
    if not stripped or stripped.startswith(_BEGINNINGS):
        return False
    try:
        msgspec.json.decode(stripped)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return True
    return False
