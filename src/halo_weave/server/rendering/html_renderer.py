"""Tokens of Markdown as HTML that shows text from any author as text."""

from collections.abc import Sequence
from html import escape
from typing import Any

from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from halo_weave.server.rendering.code import code_block, shown_in_code
from halo_weave.server.rendering.links import is_embedded
from halo_weave.server.rendering.math_syntax import math_block_html, math_html
from halo_weave.server.rendering.plain_text import isolated
from halo_weave.server.rendering.task_lists import task_html


class HtmlRenderer(RendererHTML):
    def text(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:  # noqa: ARG002
        return isolated(tokens[idx].content)

    def code_inline(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:  # noqa: ARG002
        return f"<code>{escape(shown_in_code(tokens[idx].content))}</code>"

    def code_block(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:  # noqa: ARG002
        return code_block(tokens[idx].content)

    def fence(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:  # noqa: ARG002
        return code_block(tokens[idx].content, tokens[idx].info)

    def math_block(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:  # noqa: ARG002
        return math_block_html(tokens[idx].content)

    def math_inline(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:  # noqa: ARG002
        return math_html(tokens[idx].content, tokens[idx].markup)

    def task(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:  # noqa: ARG002
        return task_html(tokens[idx])

    def image(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        """Show a link: loading the image would tell its host that somebody reads this."""
        token = tokens[idx]
        source = str(token.attrGet("src") or "")
        words = self.renderInlineAsText(token.children, options, env) if token.children else ""
        if is_embedded(source):
            return (
                f'<span class="no-picture">[{isolated(f"Picture: {words}" if words else "Picture")}, not shown]</span>'
            )
        return f'<a class="picture" href="{escape(source)}" target="_blank">{isolated(words or source)}</a>'

    def link_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        tokens[idx].attrSet("target", "_blank")
        return self.renderToken(tokens, idx, options, env)

    def table_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return '<div class="table-box">' + self.renderToken(tokens, idx, options, env)

    def table_close(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return self.renderToken(tokens, idx, options, env) + "</div>\n"

    def th_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return self._cell(tokens, idx, options, env)

    def td_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return self._cell(tokens, idx, options, env)

    def _cell(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        """The alignment as a class: the page allows no style in its HTML."""
        style = tokens[idx].attrs.pop("style", None)
        if style is not None:
            tokens[idx].attrSet("class", f"align-{str(style).partition(':')[2]}")
        return self.renderToken(tokens, idx, options, env)
