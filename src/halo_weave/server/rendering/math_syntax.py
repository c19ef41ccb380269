r"""Formulas in Markdown: $…$ and \(…\) inside of a line, $$…$$ and \[…\] on lines of their own.

Text that only looks like a formula stays text: amounts of money, escaped parentheses around words, and everything that
is not understood as LaTeX. What is not understood is shown as it was written, with its signs.
"""

import re
from html import escape

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

from halo_weave.server.rendering.latex import LONGEST_FORMULA, mathml

_CLOSINGS = {"$$": "$$", "\\[": "\\]", "\\(": "\\)", "$": "$"}
_WORDS_ALONE = re.compile(r"[^\W\d_]{2,}[,;:]?\s+[^\W\d_]{2,}|^\s*[^\W\d_]{4,}\s*$")
"""Two words in a row, or one word and nothing else."""
_WORD = re.compile(r"[^\W\d_]{3,}")
_SIGNS = re.compile(r"[\\=^_+<>{}/|]")
_COMMANDS_AND_WORDS_IN_THEM = re.compile(
    r"\\(?:text\w*|mathrm|mathit|mathbf|mathsf|mbox|operatorname\*?|begin|end)\s*\{[^{}]*\}|\\[a-zA-Z]+"
)


def add_math(markdown: MarkdownIt) -> None:
    markdown.block.ruler.before(
        "fence", "math_block", _block, {"alt": ["paragraph", "reference", "blockquote", "list"]}
    )
    markdown.inline.ruler.before("escape", "math_inline", _inline)


def math_html(latex: str, opening: str, *, is_block: bool = False) -> str:
    is_display = opening in ("$$", "\\[")
    formula = mathml(latex, is_display=is_display)
    source = f"{opening}{latex}{_CLOSINGS[opening]}"
    if is_block:
        return f'<div class="math-box">{formula}</div>\n' if formula else f'<p class="latex">{escape(source)}</p>\n'
    if formula is None:
        return escape(source)
    return f'<span class="math-box">{formula}</span>' if is_display else formula


def _block(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    start = state.bMarks[first] + state.tShift[first]
    opening = state.src[start : start + 2]
    if opening not in ("$$", "\\[") or state.is_code_block(first):
        return False
    end = _closing_line(state, first, last, opening)
    if end is None:
        return False
    latex = state.getLines(first, end + 1, state.blkIndent, False).strip()[2:-2]
    if not latex.strip():
        return False
    if not silent:
        token = state.push("math_block", "div", 0)
        token.content, token.markup, token.map, token.block = latex, opening, [first, end + 1], True
        state.line = end + 1
    return True


def _closing_line(state: StateBlock, first: int, last: int, opening: str) -> int | None:
    """The line that ends with the closing sign; no blank line may stand before it.

    What was found out about the lines after an opening is remembered, since this is asked for each of them.
    """
    unclosed: dict[str, int] = state.env.setdefault("unclosed_math", {})
    if first < unclosed.get(opening, 0):
        return None
    line = first
    for line in range(first, last):
        begin = state.bMarks[line] + state.tShift[line] + (2 if line == first else 0)
        text = state.src[begin : state.eMarks[line]].rstrip()
        if line > first and (not text or state.sCount[line] < state.blkIndent):
            break
        place = text.find(_CLOSINGS[opening])
        if place >= 0 and place + 2 == len(text):
            return line
        if place >= 0:
            break  # text follows, so this is a formula inside of a paragraph
    unclosed[opening] = line
    return None


def _inline(state: StateInline, silent: bool) -> bool:
    for opening in ("$$", "\\[", "\\(", "$"):
        if state.src.startswith(opening, state.pos):
            break
    else:
        return False
    start = state.pos + len(opening)
    end = _end(state, opening, start)
    if end is None:
        return False
    if not silent:
        token = state.push("math_inline", "math", 0)
        token.content, token.markup = state.src[start:end], opening
    state.pos = end + len(opening)
    return True


def _end(state: StateInline, opening: str, start: int) -> int | None:
    """Where the closing sign of a formula stands; None if this is no formula."""
    end = state.src.find(_CLOSINGS[opening], start, min(state.posMax, start + LONGEST_FORMULA))
    while opening == "$" and end > 0 and state.src[end - 1] == "\\":
        end = state.src.find("$", end + 1, min(state.posMax, start + LONGEST_FORMULA))
    if end < 0:
        return None
    latex = state.src[start:end]
    if not latex.strip() or "`" in latex or _is_prose(latex):
        return None
    if opening == "$" and not _is_set_off(state.src, start, end):
        return None
    if opening in ("\\(", "\\[") and mathml(latex, is_display=opening == "\\[") is None and "\\" not in latex:
        return None  # nothing but escaped brackets
    return end


def _is_set_off(source: str, start: int, end: int) -> bool:
    """Whether dollar signs stand as around a formula: close to its text, and not inside of a word or an amount."""
    before, after = source[start - 2 : start - 1] if start > 1 else "", source[end + 1 : end + 2]
    is_close = not source[start].isspace() and not source[end - 1].isspace()
    return is_close and not (before.isalnum() or before in ("$", "\\") or after.isalnum() or after == "$")


def _is_prose(latex: str) -> bool:
    text = _COMMANDS_AND_WORDS_IN_THEM.sub(" \\ ", latex)
    return bool(_WORDS_ALONE.search(text)) or not (_SIGNS.search(text) or len(_WORD.findall(text)) < 2)
