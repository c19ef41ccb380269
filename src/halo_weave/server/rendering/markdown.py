"""Renders Markdown from any author as safe HTML: nothing in it runs, loads anything, or affects its surroundings.

Raw HTML is shown as text, external images as links, control characters as visible symbols. The rendered HTML is
sanitised again, so that one bug in either step is not enough for an attack.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from halo_weave.server.rendering.blocks import Block, joined
from halo_weave.server.rendering.html_renderer import HtmlRenderer
from halo_weave.server.rendering.links import add_links, is_valid_link, without_long_pictures
from halo_weave.server.rendering.math_syntax import add_math
from halo_weave.server.rendering.plain_text import plain, readable
from halo_weave.server.rendering.sanitiser import sanitised
from halo_weave.server.rendering.task_lists import add_task_lists

LONGEST_LINE, LONGEST_TEXT = 10_000, 100_000
"""Longer texts are shown without Markdown, to limit the rendering time."""
LONGEST_HTML = 4_000_000
"""Characters. A short formula can become a hundred times as long."""
_MOST_BLOCKS = 5_000
"""Each is sanitised by itself. A text with more of them is one block."""
_LISTS = ("bullet_list_open", "ordered_list_open")


def rendered(text: str) -> str:
    """Sanitised HTML for a Markdown text. Some texts take very long; see `renderer`."""
    return joined(blocks_of(text))


def blocks_of(text: str) -> list[Block]:
    text = _shortened(text)
    if _is_too_long(text):
        return [Block(0, plain(text))]
    env: dict[str, Any] = {}
    parts = list(_parts(_markdown.parse(readable(text), env)))
    if len(parts) > _MOST_BLOCKS:
        parts = [(0, False, [token for _, _, tokens in parts for token in tokens])]
    blocks = [
        Block(line, sanitised(_markdown.renderer.render(tokens, _markdown.options, env)), continues)
        for line, continues, tokens in parts
    ]
    return blocks if sum(len(block.html) for block in blocks) <= LONGEST_HTML else [Block(0, plain(text))]


def _shortened(text: str) -> str:
    """Without the bytes of embedded pictures, where they would make the text too long for Markdown."""
    return without_long_pictures(text) if _is_too_long(text) else text


def _is_too_long(text: str) -> bool:
    return len(text) > LONGEST_TEXT or any(len(line) > LONGEST_LINE for line in text.split("\n"))


def _parts(tokens: Sequence[Token]) -> Iterator[tuple[int, bool, list[Token]]]:
    """The tokens of each block with its first line, and whether it continues a list."""
    for block in _groups(tokens, 0):
        opening = block[0]
        opening.attrSet("dir", "auto")
        line = opening.map[0] if opening.map else 0
        if opening.type not in _LISTS:
            yield line, False, block
            continue
        for place, item in enumerate(_groups(block[1:-1], 1)):
            line = item[0].map[0] if item[0].map else line
            yield line, place > 0, [_opening_of(opening, place), *item, block[-1]]


def _groups(tokens: Sequence[Token], level: int) -> Iterator[list[Token]]:
    group: list[Token] = []
    for token in tokens:
        group.append(token)
        if token.level == level and token.nesting <= 0:
            yield group
            group = []


def _opening_of(opening: Token, place: int) -> Token:
    """The opening of a list that begins with one of its later items."""
    if not place:
        return opening
    attributes = {**opening.attrs, "class": "continued"}
    if opening.type == "ordered_list_open":
        attributes["start"] = int(opening.attrs.get("start", 1)) + place
    return opening.copy(attrs=attributes)


class _Markdown(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: N802
        return is_valid_link(url)


_markdown = _Markdown("commonmark", {"html": False}, renderer_cls=HtmlRenderer)
_markdown.enable(["table", "strikethrough"])
add_links(_markdown)
add_math(_markdown)
add_task_lists(_markdown)
