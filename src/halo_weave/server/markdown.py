"""Markdown as HTML that can be shown whoever wrote it: nothing in it runs, loads or leaves its place.

Raw HTML is shown as text, pictures from elsewhere as links, control characters as signs. What Markdown gave is
sanitised once more, so that a mistake in one of the two is not enough.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from html import escape
from typing import Any

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

LONGEST_LINE, LONGEST_TEXT, LONGEST_COLOURED = 10_000, 100_000, 60_000
"""Longer texts are shown without Markdown, and longer code without colours, so that no text takes long."""
_SCHEMES = ("http://", "https://", "mailto:")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_HALVES = re.compile("[\ud800-\udfff]")
_BIDI = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_TAGS = {
    "p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote", "pre", "code", "span", "div",
    "em", "strong", "s", "a", "bdi", "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip
_ATTRIBUTES = {
    "a": {"href", "target", "class"},
    "code": {"class"},
    "pre": {"class"},
    "span": {"class"},
    "div": {"class"},
    "th": {"class"},
    "td": {"class"},
    "ol": {"start"},
}
_formatter: "HtmlFormatter[str]" = HtmlFormatter(nowrap=True)


@lru_cache(maxsize=512)
def rendered(text: str) -> str:
    """Sanitised HTML of a text in Markdown."""
    text = readable(text)
    if len(text) > LONGEST_TEXT or any(len(line) > LONGEST_LINE for line in text.split("\n")):
        html = f'<div class="unformatted">{_isolated(text)}</div>'
    else:
        html = _markdown.render(text)
    return nh3.clean(
        html,
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )


def readable(text: str) -> str:
    """Line ends as line feeds, control characters as the signs for them, halves of characters replaced."""
    text = _HALVES.sub("\ufffd", text)
    return _CONTROL.sub(_sign, text.replace("\r\n", "\n").replace("\r", "\n"))


def _sign(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"\u2039U+{code:04X}\u203a"


def _isolated(text: str) -> str:
    """Escaped; what could turn the direction of its surroundings is kept to itself."""
    return f"<bdi>{escape(text)}</bdi>" if _BIDI.search(text) else escape(text)


def _shown_in_code(text: str) -> str:
    """In code the characters that turn directions are shown, since hiding there is what they are abused for."""
    return _BIDI.sub(lambda found: f"\u2039U+{ord(found[0]):04X}\u203a", text)


@lru_cache(maxsize=256)
def _lexer(language: str) -> Lexer | None:
    try:
        return get_lexer_by_name(language, stripnl=False)
    except ClassNotFound:
        return None


def _coloured(code: str, language: str) -> str:
    lexer = _lexer(language) if language and len(code) <= LONGEST_COLOURED else None
    return escape(code) if lexer is None else highlight(code, lexer, _formatter)


class _Renderer(RendererHTML):
    def text(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:  # noqa: ARG002
        return _isolated(tokens[idx].content)

    def code_inline(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:  # noqa: ARG002
        return f"<code>{escape(_shown_in_code(tokens[idx].content))}</code>"

    def code_block(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:  # noqa: ARG002
        return f'<pre class="code"><code>{escape(_shown_in_code(tokens[idx].content))}</code></pre>\n'

    def fence(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:  # noqa: ARG002
        words = tokens[idx].info.split()
        language = words[0].lower() if words and re.fullmatch(r"[\w+#.-]{1,40}", words[0]) else ""
        named = f' class="language-{escape(language)}"' if language else ""
        code = _coloured(_shown_in_code(tokens[idx].content), language)
        return f'<pre class="code"><code{named}>{code}</code></pre>\n'

    def image(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        """Loading it would tell its host that somebody reads this."""
        token = tokens[idx]
        source = str(token.attrGet("src") or "")
        words = self.renderInlineAsText(token.children, options, env) if token.children else ""
        return f'<a class="picture" href="{escape(source)}" target="_blank">{_isolated(words or source)}</a>'

    def link_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        tokens[idx].attrSet("target", "_blank")
        return self.renderToken(tokens, idx, options, env)

    def th_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return self._cell(tokens, idx, options, env)

    def td_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return self._cell(tokens, idx, options, env)

    def _cell(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        style = tokens[idx].attrs.pop("style", None)
        if style is not None:
            tokens[idx].attrSet("class", str(style).partition(":")[2])
        return self.renderToken(tokens, idx, options, env)


class _Markdown(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: N802
        return url.lower().startswith(_SCHEMES)


_markdown = _Markdown("commonmark", {"html": False, "linkify": False}, renderer_cls=_Renderer)
_markdown.enable(["table", "strikethrough"])
