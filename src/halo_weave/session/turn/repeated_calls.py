"""Detects tool calls that the model only repeats from its input.

Neither the author of a message, nor text pasted into one, nor a tool result may decide which calls are run. A call
counts as the model's own only if it does not appear, including its tags, in text from others.
"""

from collections.abc import Iterable

from halo_weave.tools.calls.tags import FoundCall
from halo_weave.weave.context import LiveChunk

_TAGS = ("tool", "tool_call")


def is_repeated(call: FoundCall, chunks: Iterable[LiveChunk], tool_mark: str) -> bool:
    """Whether the call appears in a user's or a tool's chunks. White space is ignored, and code blocks count too."""
    given = _bare("".join(chunk.text for chunk in chunks if chunk.key.role == "user" or tool_mark in chunk.marks))
    content = _bare(call.text)
    return any(f"<{tag}>{content}</{tag}>" in given for tag in _TAGS)


def _bare(text: str) -> str:
    return "".join(text.split())
