"""The memory tree at rest: what was saved under a path, every version of it, and the chunks that went with each."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from halo_weave.records.notes_and_tree import KeptVersion
from halo_weave.records.tree import (
    SnapshotChunk,
    SnapshotVectors,
    TreeEntry,
    TreeOutline,
    TreeVersion,
    VersionOutline,
)


class TreeStore(Protocol):
    """Paths are as `tree_paths` writes them, roots too, which are empty for the whole tree.

    Of a snapshot a chunk is not given while its source is deleted, and is gone once that was forgotten. It is the
    positions that tell: a source that was merged is now a part of whoever has them.
    """

    def put_tree_entry(
        self,
        path: str,
        content: str,
        snapshot: Sequence[SnapshotChunk],
        *,
        time: datetime,
        origin: str,
        expected_version: int | None = None,
        as_of: int | None = None,
    ) -> int:
        """Save a version of an entry; gives its number, which is never used again, not even after a deletion.

        StoreConflict if the entry does not have the expected version; 0 is for one that is not there. Chunks that were
        forgotten meanwhile are left out, and vectors of those that changed after the change number `as_of`, at which
        they were read.
        """
        ...

    def tree_entry(self, path: str) -> TreeEntry | None: ...

    def touch_tree_entry(self, path: str, time: datetime) -> None:
        """Note when it was read, if it is there; may be lost when the machine fails."""
        ...

    def tree_outlines(self, root: str = "") -> list[TreeOutline]:
        """All entries at or under a root, in order of their headings."""
        ...

    def tree_entries_under(self, root: str) -> list[TreeEntry]:
        """All entries under a root, but not the one at it."""
        ...

    def tree_version(self, path: str, version: int) -> TreeVersion | None: ...

    def tree_history(self, path: str, before: int | None = None, limit: int = 100) -> list[VersionOutline]:
        """Newest first, deletions too; goes on below `before`."""
        ...

    def tree_snapshot(self, path: str, version: int) -> list[SnapshotChunk]:
        """What was near when this version was saved, the best first."""
        ...

    def tree_snapshot_chunks(self, ids: Sequence[int]) -> dict[int, SnapshotChunk]:
        """Chunks of snapshots by their ids."""
        ...

    def tree_vectors_under(self, root: str, embedder: str | None) -> SnapshotVectors:
        """Of the snapshots of all entries under a root as they are now; faster than reading the chunks."""
        ...

    def put_tree_vectors(self, embedder: str, vectors: Mapping[int, NDArray[np.floating[Any]]]) -> None:
        """Keep these vectors of snapshot chunks by their ids, in place of earlier ones; what is gone is left out."""
        ...

    def delete_tree_entries(self, path: str, *, recursive: bool, time: datetime, origin: str) -> list[str]:
        """Delete the entry, and those under it if it is so asked; gives what was there. The history stays."""
        ...

    def undelete_tree_entries(self, paths: Sequence[str], *, time: datetime, origin: str) -> list[int]:
        """Bring back what was deleted, as new versions, all or none; gives their numbers.

        StoreConflict if one of them is not deleted.
        """
        ...

    def restore_tree_entry(
        self, path: str, version: int, *, time: datetime, origin: str, expected_version: int | None = None
    ) -> int:
        """Save an earlier version once more, with its snapshot, as a new one.

        InputError if there is no such version or it is a deletion; StoreConflict as when saving.
        """
        ...

    def tree_versions_from(self, path: str, version: int, limit: int) -> list[KeptVersion]:
        """Up to `limit` versions behind this one, deletions too, in order of path and version, with all they have.

        To walk over all: begin at an empty path and version 0.
        """
        ...
