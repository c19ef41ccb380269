"""Code as HTML, coloured where that is known to be quick."""

import re
from functools import lru_cache
from html import escape

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name

from halo_weave.server.rendering.plain_text import BIDI

LONGEST_COLOURED = 5_000
"""Longer code has no colours, to limit the rendering time."""
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
_LANGUAGE = re.compile(r"[\w+#.-]{1,40}")
_formatter: "HtmlFormatter[str]" = HtmlFormatter(nowrap=True)


def code_block(code: str, info: str = "") -> str:
    """`info` is what stands behind the opening fence; its first word names the language."""
    words = info.split()
    language = words[0].lower() if words and _LANGUAGE.fullmatch(words[0]) else ""
    name = f' class="language-{escape(language)}"' if language else ""
    coloured = _coloured(shown_in_code(code), language)
    return (
        f'<div class="code-block" dir="ltr" data-language="{escape(language)}">'
        f'<pre class="code"><code{name}>{coloured}</code></pre></div>\n'
    )


def shown_in_code(text: str) -> str:
    """Show bidirectional control characters in code, because they are used there to disguise it."""
    return BIDI.sub(lambda found: f"\u2039U+{ord(found[0]):04X}\u203a", text)


@lru_cache
def _lexer(language: str) -> Lexer:
    return get_lexer_by_name(language, stripnl=False)


def _coloured(code: str, language: str) -> str:
    is_coloured = language in LANGUAGES and len(code) <= LONGEST_COLOURED
    return highlight(code, _lexer(language), _formatter) if is_coloured else escape(code)
