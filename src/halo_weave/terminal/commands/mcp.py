"""`halo-weave mcp`: serves the memory to another assistant over stdin and stdout."""

import logging
import sys

from halo_weave.config import Settings
from halo_weave.server.mcp.server import run_on_stdio
from halo_weave.terminal.opened_memory import opened_memory
from halo_weave.tools.factory import opened_toolboxes

_EMBEDDED_WITHIN_S = 5.0


def run(settings: Settings) -> int:
    """Serve until the assistant closes its end. Warnings go to stderr, which assistants show in their logs."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="halo-weave mcp: %(message)s")
    with (
        opened_memory(settings, may_be_new=True) as memory,
        opened_toolboxes(memory, settings.memory) as tools,
    ):
        run_on_stdio(lambda: tools.assistants)
        memory.wait_embedded(_EMBEDDED_WITHIN_S)
    return 0
