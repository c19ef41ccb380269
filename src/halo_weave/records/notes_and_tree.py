"""What was kept on purpose, notes and the memory tree, on its way from one memory to another."""

from typing import NamedTuple

from halo_weave.records.notes import NotesRecord
from halo_weave.records.tree import SnapshotChunk, TreeVersion


class KeptVersion(NamedTuple):
    """A version of an entry with its whole snapshot, also what is hidden because its source is deleted."""

    version: TreeVersion
    snapshot: list[SnapshotChunk]


NotesOrTreeRecord = NotesRecord | KeptVersion


class RestoredKept(NamedTuple):
    """Versions that were missing were added. `tree_differing` are paths that have another history and content here.

    Those stay as they are here, and so do the notes if they are differing.
    """

    tree_added: tuple[str, ...] = ()
    tree_differing: tuple[str, ...] = ()
    are_notes_added: bool = False
    are_notes_differing: bool = False
