"""Task lists in Markdown: `- [ ] open` and `- [x] done`."""

import re

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

_TASK = re.compile(r"\[([ xX])\]\s+")


def add_task_lists(markdown: MarkdownIt) -> None:
    markdown.core.ruler.after("inline", "task_lists", _mark_tasks)


def task_html(token: Token) -> str:
    is_done = token.content != " "
    state, label = (" is-done", "Done") if is_done else ("", "Not done")
    return f'<span class="task{state}" role="img" aria-label="{label}"></span> '


def _mark_tasks(state: StateCore) -> None:
    for item, paragraph, inline in zip(state.tokens, state.tokens[1:], state.tokens[2:], strict=False):
        if item.type != "list_item_open" or paragraph.type != "paragraph_open" or not inline.children:
            continue
        first = inline.children[0]
        found = _TASK.match(first.content) if first.type == "text" else None
        if found and (found.end() < len(first.content) or len(inline.children) > 1):
            first.content = first.content[found.end() :]
            inline.children.insert(0, Token("task", "", 0, content=found[1]))
            item.attrSet("class", "task-item")
