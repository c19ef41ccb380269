"""Renders Markdown from any author as safe HTML: nothing in it runs, loads anything, or affects its surroundings.

Raw HTML is shown as text, external images as links, control characters as visible symbols. The rendered HTML is
sanitised again, so that one bug in either step is not enough for an attack.
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

from halo_weave.server.rendering.plain_text import BIDI, isolated, plain, readable

LONGEST_LINE, LONGEST_TEXT, LONGEST_COLOURED = 10_000, 100_000, 5_000
"""Longer texts are shown without Markdown and longer code without colours, to limit the rendering time."""
LANGUAGES = frozenset({
    "asm", "awk", "bash", "c", "c#", "c++", "clojure", "cmake", "cpp", "cs", "csharp", "css", "dart", "diff",
    "docker", "dockerfile", "elixir", "erlang", "fortran", "go", "golang", "graphql", "groovy", "haskell", "hs",
    "html", "ini", "java", "javascript", "js", "json", "jsx", "julia", "kotlin", "latex", "lisp", "lua", "make",
    "makefile", "markdown", "matlab", "md", "nginx", "nix", "objective-c", "objc", "ocaml", "pascal", "perl",
    "php", "pl", "powershell", "ps1", "proto", "protobuf", "py", "python", "python3", "r", "rb", "rs", "ruby",
    "rust", "scala", "scheme", "scss", "sh", "shell", "sql", "swift", "tcl", "tex", "toml", "ts", "tsx",
    "typescript", "vim", "vue", "xml", "yaml", "yml", "zig", "zsh",
})  # fmt: skip
"""Languages that are highlighted. Many of the other lexers take minutes for a page of tabs or line feeds."""
_SCHEMES = ("http://", "https://", "mailto:")
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


def is_too_long(text: str) -> bool:
    return len(text) > LONGEST_TEXT or any(len(line) > LONGEST_LINE for line in text.split("\n"))


def rendered(text: str) -> str:
    """Sanitised HTML for a Markdown text. Some texts take very long; see `renderer`."""
    if is_too_long(text):
        return plain(text)
    return nh3.clean(
        _markdown.render(readable(text)),
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )


def _shown_in_code(text: str) -> str:
    """Show bidirectional control characters in code, because they are used there to disguise it."""
    return BIDI.sub(lambda found: f"\u2039U+{ord(found[0]):04X}\u203a", text)


@lru_cache
def _lexer(language: str) -> Lexer:
    return get_lexer_by_name(language, stripnl=False)


def _coloured(code: str, language: str) -> str:
    is_coloured = language in LANGUAGES and len(code) <= LONGEST_COLOURED
    return highlight(code, _lexer(language), _formatter) if is_coloured else escape(code)


class _Renderer(RendererHTML):
    def text(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:  # noqa: ARG002
        return isolated(tokens[idx].content)

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
        """Show a link: loading the image would tell its host that somebody reads this."""
        token = tokens[idx]
        source = str(token.attrGet("src") or "")
        words = self.renderInlineAsText(token.children, options, env) if token.children else ""
        return f'<a class="picture" href="{escape(source)}" target="_blank">{isolated(words or source)}</a>'

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
            tokens[idx].attrSet("class", f"align-{str(style).partition(':')[2]}")
        return self.renderToken(tokens, idx, options, env)


class _Markdown(MarkdownIt):
    def validateLink(self, url: str) -> bool:  # noqa: N802
        return url.lower().startswith(_SCHEMES)


_markdown = _Markdown("commonmark", {"html": False, "linkify": False}, renderer_cls=_Renderer)
_markdown.enable(["table", "strikethrough"])
