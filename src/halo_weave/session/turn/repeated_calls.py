"""Calls that the model only repeats from what it was given to read.

Whoever writes a message, a text that is pasted into one, and what a tool brings back must not decide what is carried
out: a call counts as the model's own only if it does not stand, tags and all, in what others said.
"""

from collections.abc import Iterable

from halo_weave.tools.calls.tags import FoundCall
from halo_weave.weave.context import LiveChunk

_TAGS = ("tool", "tool_call")


def is_repeated(call: FoundCall, chunks: Iterable[LiveChunk], tool_mark: str) -> bool:
    """Whether it stands in a user's or a tool's chunks. White space does not matter, nor do the marks of code."""
    given = _bare("".join(chunk.text for chunk in chunks if chunk.key.role == "user" or tool_mark in chunk.marks))
    content = _bare(call.text)
    return any(f"<{tag}>{content}</{tag}>" in given for tag in _TAGS)


def _bare(text: str) -> str:
    return "".join(text.split())
