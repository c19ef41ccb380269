"""The memory: every chunk ever said, in all windows and programs, searchable by words and by meaning.

Callers use `Memory`. It combines the store (protocols in `store`, implementation in `sqlite`), the indexes (`words`,
`vectors`), the embedders and the search. The memory does not know what a window is.
"""

from typing import TYPE_CHECKING

from halo_weave.system.exports import exported_from

if TYPE_CHECKING:
    from halo_weave.memory.embedders.embedder import Embedder as Embedder
    from halo_weave.memory.embedders.embedder import EmbedderSettings as EmbedderSettings
    from halo_weave.memory.embedders.embedder import open_embedder as open_embedder
    from halo_weave.memory.memory import Memory as Memory
    from halo_weave.memory.memory import open_memory as open_memory
    from halo_weave.memory.search.search import Hit as Hit
    from halo_weave.memory.settings import MemorySettings as MemorySettings
    from halo_weave.memory.store.protocol import Store as Store
else:
    __getattr__ = exported_from(
        {
            "Embedder": "halo_weave.memory.embedders.embedder",
            "EmbedderSettings": "halo_weave.memory.embedders.embedder",
            "open_embedder": "halo_weave.memory.embedders.embedder",
            "Memory": "halo_weave.memory.memory",
            "open_memory": "halo_weave.memory.memory",
            "Hit": "halo_weave.memory.search.search",
            "MemorySettings": "halo_weave.memory.settings",
            "Store": "halo_weave.memory.store.protocol",
        }
    )
