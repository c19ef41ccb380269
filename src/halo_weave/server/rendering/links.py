"""Links and pictures in Markdown: addresses become links, and pictures inside of the text are refused."""

import re
from typing import Any

from linkify_it import LinkifyIt  # type: ignore[import-untyped]
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore

_EMBEDDED = "data:image/"
_LONG_PICTURE = re.compile(r"(\(\s*<?data:image/[\w.+-]{1,40})[;,][\w+/=%;,.:-]{200,}")
SCHEMES = ("http://", "https://", "mailto:")


def is_valid_link(url: str) -> bool:
    """Also that of an embedded picture, which is taken out afterwards; else its text would fill pages."""
    return url.lower().startswith((*SCHEMES, _EMBEDDED))


def is_embedded(url: object) -> bool:
    return str(url).lower().startswith(_EMBEDDED)


def without_long_pictures(text: str) -> str:
    return _LONG_PICTURE.sub(r"\1,…", text)


def add_links(markdown: MarkdownIt) -> None:
    markdown.linkify = _AddressFinder()
    markdown.options["linkify"] = True
    markdown.enable("linkify")
    markdown.core.ruler.after("linkify", "embedded_links", _drop_links_to_embedded)


class _AddressFinder(LinkifyIt):  # type: ignore[misc]
    """Finds what GitHub does: without a scheme or www, a name such as main.py is no address."""

    def match(self, text: str) -> list[Any]:
        return [found for found in super().match(text) or () if found.schema or found.raw.lower().startswith("www.")]


def _drop_links_to_embedded(state: StateCore) -> None:
    for token in state.tokens:
        is_inside = False
        for child in token.children or ():
            if child.type == "link_open" and is_embedded(child.attrGet("href")):
                is_inside = True
            elif not (child.type == "link_close" and is_inside):
                continue
            else:
                is_inside = False
            child.type, child.content, child.nesting = "text", "", 0
