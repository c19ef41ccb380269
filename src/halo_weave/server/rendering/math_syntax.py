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


def math_html(latex: str, opening: str) -> str:
    """A formula inside of a paragraph."""
    is_display = opening in ("$$", "\\[")
    formula = mathml(latex, is_display=is_display)
    if formula is None:
        return escape(f"{opening}{latex}{_CLOSINGS[opening]}")
    return f'<span class="math-box">{formula}</span>' if is_display else formula


def math_block_html(source: str) -> str:
    """A formula on lines of its own, given with its signs; the closing one may be missing."""
    latex, closing, rest = source[2:].partition(_CLOSINGS[source[:2]])
    formula = mathml(latex, is_display=True) if closing else None
    if formula is None:
        return f'<p class="latex">{escape(source)}</p>\n'
    after = f"<p>{escape(rest.strip())}</p>" if rest.strip() else ""
    return f'<div class="math-box">{formula}{after}</div>\n'


def _block(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """A line with the opening sign alone begins a formula, which ends at the closing sign or before a blank line.

    So a formula that is still being written is one block from its first line on.
    """
    start = state.bMarks[first] + state.tShift[first]
    line = state.src[start : state.eMarks[first]].strip()
    closing = _CLOSINGS.get(line[:2]) if len(line[:2]) == 2 else None
    is_whole = len(line) > 4 and closing is not None and line.find(closing, 2) == len(line) - 2
    if closing is None or line[:2] == "\\(" or (len(line) > 2 and not is_whole) or state.is_code_block(first):
        return False
    if silent:
        return True
    end = first if is_whole else _last_line(state, first, last, closing)
    token = state.push("math_block", "div", 0)
    token.content = state.getLines(first, end + 1, state.blkIndent, False).strip()
    token.map, token.block = [first, end + 1], True
    state.line = end + 1
    return True


def _last_line(state: StateBlock, first: int, last: int, closing: str) -> int:
    for line in range(first + 1, last):
        text = state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]
        if not text.strip() or state.sCount[line] < state.blkIndent:
            return line - 1
        if closing in text:
            return line
    return last - 1


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
