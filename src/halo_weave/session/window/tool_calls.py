"""The calls of tools that a window lists, as far as its living chunks tell of them."""

from collections.abc import Iterable, Iterator
from typing import Any

from halo_weave.session.window.reviving import TOOL
from halo_weave.weave.context import LiveChunk

NOTED_CHARACTERS = 2000
"""So much is kept of a call's command, arguments and result in the list; the chunks have all of it."""


def earlier_calls(chunks: Iterable[LiveChunk]) -> Iterator[dict[str, Any]]:
    """What living chunks tell of calls, as the window's list of calls has it."""
    for chunk in chunks:
        if isinstance(told := chunk.marks.get(TOOL), dict):
            yield {**told, "result": chunk.text.strip()[:NOTED_CHARACTERS], "time": chunk.time.isoformat()}
