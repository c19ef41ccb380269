"""Tools for the model and, over MCP, for other assistants: notes, the memory tree, and search over everything said."""

from typing import TYPE_CHECKING

from halo_weave.system.exports import exported_from

if TYPE_CHECKING:
    from halo_weave.tools.factory import Toolboxes as Toolboxes
    from halo_weave.tools.factory import opened_toolboxes as opened_toolboxes
    from halo_weave.tools.notes.notes import Notes as Notes
    from halo_weave.tools.registry import Toolbox as Toolbox
    from halo_weave.tools.tree.tree import MemoryTree as MemoryTree
else:
    __getattr__ = exported_from(
        {
            "Toolboxes": "halo_weave.tools.factory",
            "opened_toolboxes": "halo_weave.tools.factory",
            "Notes": "halo_weave.tools.notes.notes",
            "Toolbox": "halo_weave.tools.registry",
            "MemoryTree": "halo_weave.tools.tree.tree",
        }
    )
