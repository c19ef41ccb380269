"""The toolbox: all tools by name, for models in a chat and for other assistants."""

import logging
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

from halo_weave.errors import HaloError, InputError
from halo_weave.memory.memory import Memory
from halo_weave.records.chunks import utc_now
from halo_weave.tools.calls.calls import AskedFor, parse_call
from halo_weave.tools.notes.notes import Notes
from halo_weave.tools.notes.tools import note_tools
from halo_weave.tools.remembering import Remembering, remember_tool
from halo_weave.tools.search_tool import search_tool
from halo_weave.tools.tool import Asker, Tool, ToolOutcome, failed
from halo_weave.tools.tree.tools import tree_tools
from halo_weave.tools.tree.tree import MemoryTree

_log = logging.getLogger(__name__)


class Called(NamedTuple):
    """A call that ran or was refused; `asked` is None if it could not be parsed."""

    asked: AskedFor | None
    outcome: ToolOutcome


class Toolbox:
    """Thread-safe. Every call returns an outcome and never raises an exception."""

    def __init__(
        self,
        memory: Memory,
        notes: Notes,
        tree: MemoryTree,
        remembering: Remembering | None = None,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        """With `remembering`, the toolbox is for other assistants. It then has `remember`, which a chat does not need
        because it saves everything anyway. `query_memory` is called `read_memory`: nothing is woven into a context."""
        self.notes = notes
        self.tree = tree
        self.tools: Sequence[Tool[Any]] = (*note_tools(notes), *tree_tools(tree), search_tool(memory))
        if remembering is not None:
            own = (replace(one, name="read_memory") if one.name == "query_memory" else one for one in self.tools)
            self.tools = (*own, remember_tool(memory, remembering, clock))
        self._by_name = {tool.name: tool for tool in self.tools}

    def reading_only(self) -> "Toolbox":
        """The same tools for a private window: those that change something only say so, and reading leaves no trace."""
        toolbox = copy(self)
        toolbox.tools = [
            replace(tool, work=_refused) if tool.changes else replace(tool, work=tool.quiet_work or tool.work)
            for tool in self.tools
        ]
        toolbox._by_name = {tool.name: tool for tool in toolbox.tools}
        return toolbox

    def run(self, name: str, arguments: dict[str, Any], asker: Asker) -> ToolOutcome:
        try:
            return self._tool(name).run(arguments, asker)
        except HaloError as error:
            return failed(str(error))
        except Exception:
            _log.exception("The tool %s failed.", name)
            return failed(f"{name} failed with an internal error; see the log for details.")

    def call(self, text: str, asker: Asker) -> Called:
        """Run the text between the tags of a call."""
        try:
            asked = parse_call(text, {name: tool.argument_names for name, tool in self._by_name.items()})
        except HaloError as error:
            return Called(None, failed(str(error)))
        return Called(asked, self.run(asked.name, asked.arguments, asker))

    def _tool(self, name: str) -> Tool[Any]:
        if name not in self._by_name:
            raise InputError(f"There is no tool {name[:40]!r}; the tools are {', '.join(self._by_name)}.")
        return self._by_name[name]


def _refused(_arguments: Any, _asker: Asker) -> ToolOutcome:
    return failed("this window is private; nothing is saved or changed from it")
