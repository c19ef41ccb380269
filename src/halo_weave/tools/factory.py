"""Creates the tools of one program for its memory."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from typing import NamedTuple

from halo_weave.memory.memory import Memory
from halo_weave.memory.settings import MemorySettings
from halo_weave.records.chunks import utc_now
from halo_weave.tools.bundled_vocabulary import BundledVocabulary
from halo_weave.tools.jq.process import JqProcess
from halo_weave.tools.notes.notes import Notes
from halo_weave.tools.registry import Toolbox
from halo_weave.tools.remembering import Remembering
from halo_weave.tools.tree.tree import MemoryTree


class Toolboxes(NamedTuple):
    """One toolbox for models in a chat, and one for other assistants, which can also save exchanges."""

    notes: Notes
    tree: MemoryTree
    chat: Toolbox
    assistants: Toolbox


@contextmanager
def opened_toolboxes(
    memory: Memory, settings: MemorySettings, clock: Callable[[], datetime] = utc_now
) -> Iterator[Toolboxes]:
    with closing(JqProcess()) as jq, closing(BundledVocabulary()) as vocabulary:
        notes, tree = Notes(memory.notes_store, jq, clock), MemoryTree(memory, clock)
        remembering = Remembering(vocabulary.tokenize, settings.chunk_min_tokens, settings.chunk_max_tokens)
        yield Toolboxes(
            notes,
            tree,
            chat=Toolbox(memory, notes, tree, clock=clock),
            assistants=Toolbox(memory, notes, tree, remembering, clock),
        )
