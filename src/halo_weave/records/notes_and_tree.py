"""Notes and entries of the memory tree in transit from one memory to another."""

from typing import NamedTuple

from halo_weave.records.notes import NotesRecord
from halo_weave.records.tree import SnapshotChunk, TreeVersion


class KeptVersion(NamedTuple):
    """A version of an entry with its complete snapshot, including chunks hidden because their source is deleted."""

    version: TreeVersion
    snapshot: list[SnapshotChunk]


NotesOrTreeRecord = NotesRecord | KeptVersion


class RestoredKept(NamedTuple):
    """The result of restoring notes and tree entries: missing versions were added.

    `tree_differing` lists paths with a different history and content here. They stay unchanged, and so do the notes if
    `are_notes_differing`.
    """

    tree_added: tuple[str, ...] = ()
    tree_differing: tuple[str, ...] = ()
    are_notes_added: bool = False
    are_notes_differing: bool = False
