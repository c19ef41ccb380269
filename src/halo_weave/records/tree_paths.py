"""Paths of the memory tree, such as `HaloWeave/Goals/Phase 1`: headings from the top down, separated by slashes."""

import unicodedata
from collections.abc import Iterator

from halo_weave.errors import InputError

SLASH = "/"
LONGEST_HEADING = 120
LONGEST_PATH = 600
MOST_LEVELS = 16
_LONGEST_SHOWN = 80
_NEVER = {"Cc": "a control character", "Cs": "an unpaired surrogate", "Zl": "a line break", "Zp": "a line break"}


def path_of_text(text: str) -> str:
    """Return the canonical form of a path: headings are stripped and in Unicode form NFC.

    Raises InputError if the text is not a valid path. Headings are case-sensitive.
    """
    if len(text) > 2 * LONGEST_PATH:
        raise InputError(f"The path {_shown(text)} has {len(text):,} characters; the limit is {LONGEST_PATH}.")
    _require_whole(text.strip())
    headings = [unicodedata.normalize("NFC", heading).strip() for heading in text.strip().split(SLASH)]
    _require_headings(text, headings)
    path = SLASH.join(headings)
    if len(path) > LONGEST_PATH:
        raise InputError(f"The path {_shown(text)} has {len(path)} characters; the limit is {LONGEST_PATH}.")
    return path


def root_of_text(text: str) -> str:
    """Like `path_of_text`, but empty text stands for the whole tree."""
    return path_of_text(text) if text.strip() else ""


def heading_of(path: str) -> str:
    return path.rpartition(SLASH)[2]


def parent_of(path: str) -> str:
    """Return the parent path, empty for a top-level heading."""
    return path.rpartition(SLASH)[0]


def ancestors_of(path: str) -> Iterator[str]:
    """Yield the ancestors from the top down, without the path itself."""
    for place, character in enumerate(path):
        if character == SLASH:
            yield path[:place]


def is_under(path: str, root: str) -> bool:
    """Whether a path is below a root, excluding the root itself. Every path is below the empty root."""
    return not root or path.startswith(root + SLASH)


def _require_whole(text: str) -> None:
    for character in text:
        kind = _NEVER.get(unicodedata.category(character))
        if kind is not None:
            raise InputError(f"The path {_shown(text)} has {kind} (U+{ord(character):04X}).")


def _require_headings(text: str, headings: list[str]) -> None:
    if headings == [""]:
        raise InputError("The path is empty; write at least one heading, such as Goals.")
    if not headings[0] or not headings[-1]:
        raise InputError(f"The path {_shown(text)} begins or ends with a slash; use slashes only between headings.")
    if "" in headings:
        raise InputError(f"The path {_shown(text)} has an empty heading between two slashes.")
    if len(headings) > MOST_LEVELS:
        raise InputError(f"The path {_shown(text)} has {len(headings)} headings; the limit is {MOST_LEVELS}.")
    for heading in headings:
        if len(heading) > LONGEST_HEADING:
            raise InputError(
                f"The heading {_shown(heading)} has {len(heading)} characters; the limit is {LONGEST_HEADING}."
            )


def _shown(text: str) -> str:
    return repr(text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…")
