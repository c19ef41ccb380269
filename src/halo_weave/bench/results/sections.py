"""Sections of other pages that are filled from result files: the text between two marks that name the file."""

import re
from collections.abc import Mapping

from halo_weave.errors import InputError

_BEGIN = re.compile(r"<!-- figures of ([\w-]+): begin -->")
_SECTION = re.compile(r"(<!-- figures of ([\w-]+): begin -->\n)(.*?)(<!-- figures of \2: end -->)", re.DOTALL)


def with_sections(text: str, contents: Mapping[str, str], where: str) -> str:
    """Return the text with its sections filled; those without a result stay as they are.

    `contents` are by the names of result files, without `.json`.
    """
    whole = {found[2] for found in _SECTION.finditer(text)}
    for begun in _BEGIN.findall(text):
        if begun not in whole:
            raise InputError(f"The section for figures of {begun} in {where} has no end.")
    return _SECTION.sub(
        lambda found: f"{found[1]}{contents[found[2]]}\n{found[4]}" if found[2] in contents else found[0], text
    )
