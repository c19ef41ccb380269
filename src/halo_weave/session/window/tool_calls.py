"""The tool calls that a window lists, taken from the metadata of its living chunks."""

from collections.abc import Iterable, Iterator
from typing import Any

from halo_weave.session.window.reviving import TOOL
from halo_weave.weave.context import LiveChunk

NOTED_CHARACTERS = 2000
"""Maximum length of a call's command, arguments and result in the list; the chunks have the whole text."""


def earlier_calls(chunks: Iterable[LiveChunk]) -> Iterator[dict[str, Any]]:
    """The tool calls that living chunks record, in the form of the window's list."""
    for chunk in chunks:
        if isinstance(told := chunk.marks.get(TOOL), dict):
            yield {**told, "result": chunk.text.strip()[:NOTED_CHARACTERS], "time": chunk.time.isoformat()}
