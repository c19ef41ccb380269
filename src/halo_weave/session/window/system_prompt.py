"""Builds the system prompt: the user's text, the always-present notes, a short description of the tools, and an outline
of the memory tree.

A description costs tokens in every turn and misleads small models, which then write about tools instead of answering.
By default only models that were trained on long contexts get it, because only these can use it.
"""

from collections.abc import Iterator

from halo_weave.engine.protocol import Engine, ModelFacts
from halo_weave.session.settings import ChatSettings, ToolSettings, WindowSettings
from halo_weave.tools.registry import Toolbox

LEAST_TRAINED_CONTEXT = 16_384
LEAST_USABLE_CONTEXT = 4_096
MOST_TOKENS = 600
"""Maximum size of the tool description and the outline of the memory tree together."""
_TREE_LEVELS = 2
_CHARACTERS_PER_TOKEN = 3

_LINES = (
    "You have tools. Call one by writing a call in tags as in these examples; its result follows immediately, and you "
    "continue. Call a tool only if it helps, never in a code block, and never make up a result.",
    "Your notes are one JSON document, read and changed with jq: <tool>jq '.topics' notes.json</tool> and "
    "<tool>jq '.topics.cat = \"Mia\"' notes.json > output</tool>.",
    'Search everything ever said: <tool>search_memory("the cat", since="2026-01-31")</tool>.',
    'Keep what matters at a path: <tool>save_memory("User/Pets", {"cat": "Mia"})</tool>. Bring it back with what was '
    'said about it: <tool>query_memory("User/Pets")</tool>.',
    'Browse: <tool>list_memory("User")</tool>, <tool>query_heading("User", "pets")</tool>, '
    '<tool>delete_memory("User/Pets")</tool>.',
)
_NATIVE_LINES = (
    "You have tools. Call one by writing JSON in tags as in these examples; its result follows immediately, and you "
    "continue. Call a tool only if it helps, never in a code block, and never make up a result.",
    "Your notes are one JSON document, read and changed with jq filters: "
    '<tool_call>{"name": "query_notes", "arguments": {"filter": ".topics"}}</tool_call> and '
    '<tool_call>{"name": "patch_notes", "arguments": {"filter": ".topics.cat = \\"Mia\\""}}</tool_call>.',
    "Search everything ever said: "
    '<tool_call>{"name": "search_memory", "arguments": {"query": "the cat", "since": "2026-01-31"}}</tool_call>.',
    "Keep what matters at a path: "
    '<tool_call>{"name": "save_memory", "arguments": {"path": "User/Pets", "content": {"cat": "Mia"}}}</tool_call>. '
    "Read it again with the conversation about it: "
    '<tool_call>{"name": "query_memory", "arguments": {"path": "User/Pets"}}</tool_call>.',
    "Other tools: list_memory (root), query_heading (path, query) and delete_memory (path).",
)


class SystemPrompt:
    """The system prompt of one window. It is rebuilt only when a relevant setting changes, even if the memory tree has
    changed since: after a new prompt the model must read everything that follows again."""

    def __init__(self, toolbox: Toolbox | None, engine: Engine) -> None:
        self._toolbox = toolbox
        self._engine = engine
        self._made_from: tuple[ChatSettings, ToolSettings] | None = None
        self._text = ""

    def of(self, settings: WindowSettings) -> str:
        if self._made_from != (settings.chat, settings.tools):
            prompt = "\n\n".join(part for part in (settings.chat.system_prompt, notes_in_words(settings.chat)) if part)
            self._text = with_tools(prompt, self._toolbox, settings.tools, self._engine)
            self._made_from = settings.chat, settings.tools
        return self._text


def notes_in_words(settings: ChatSettings) -> str:
    """The always-present notes as the model reads them; empty if there are none.

    They stand at the beginning, where the engine reads them once, and not before each message, where everything after
    them would have to be read again.
    """
    notes = (("Your character", settings.character), ("The user", settings.persona), ("Note", settings.note))
    return "\n\n".join(f"{name}: {text.strip()}" for name, text in notes if text.strip())


def with_tools(
    system_prompt: str,
    toolbox: Toolbox | None,
    settings: ToolSettings,
    engine: Engine,
    most_tokens: int | None = None,
) -> str:
    """The system prompt with a description of the tools, as far as it fits in `most_tokens`."""
    if toolbox is None or not settings.is_on or not _is_described(settings, engine.facts):
        return system_prompt
    most_tokens = MOST_TOKENS if most_tokens is None else most_tokens
    lines = _NATIVE_LINES if engine.facts.chat_template.writes_tool_calls else _LINES
    fitting = list(_fitting(lines, engine, most_tokens))
    described = "\n".join(fitting) if len(fitting) > 1 else ""  # the first line only introduces the others
    left = most_tokens - len(engine.tokenize(described))
    outline = _outline(toolbox, engine, _TREE_LEVELS, left) if described else ""
    saved = f"Saved so far:\n{outline}" if outline else ""
    return "\n\n".join(part for part in (system_prompt, described, saved) if part)


def _is_described(settings: ToolSettings, facts: ModelFacts) -> bool:
    if settings.describe == "auto":
        return facts.trained_context >= LEAST_TRAINED_CONTEXT and facts.usable_context >= LEAST_USABLE_CONTEXT
    return settings.describe == "always"


def _fitting(lines: tuple[str, ...], engine: Engine, most_tokens: int) -> Iterator[str]:
    """The leading lines that fit."""
    left = most_tokens
    for line in lines:
        left -= len(engine.tokenize(line)) + 1
        if left < 0:
            return
        yield line


def _outline(toolbox: Toolbox, engine: Engine, levels: int, most_tokens: int) -> str:
    characters = most_tokens * _CHARACTERS_PER_TOKEN
    while characters > 0:
        outline = toolbox.tree.outline(levels, characters)
        if len(engine.tokenize(outline)) <= most_tokens:
            return outline
        characters //= 2
    return ""
