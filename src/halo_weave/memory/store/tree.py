"""Storage of the memory tree: the entries, all their versions, and the snapshot of chunks saved with each version."""

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
    """Paths and roots are in the form that `tree_paths` writes. An empty root stands for the whole tree.

    A snapshot omits a chunk while its source is deleted, and loses it permanently once the source is forgotten.
    Positions identify the source: after a merge, the source is the chunk that now holds those positions.
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
        """Save a version of an entry and return its number, which is never reused, even after a deletion.

        Raises StoreConflict if the entry does not have the expected version; 0 means that the entry must not exist.
        Leaves out chunks that were forgotten in the meantime, and vectors of chunks that changed after `as_of`, the
        change number at which the caller read them.
        """
        ...

    def tree_entry(self, path: str) -> TreeEntry | None: ...

    def touch_tree_entry(self, path: str, time: datetime) -> None:
        """Record the read time of an existing entry. The record may be lost in a machine crash."""
        ...

    def tree_outlines(self, root: str = "") -> list[TreeOutline]:
        """Return all entries at or under a root, ordered by heading."""
        ...

    def tree_entries_under(self, root: str) -> list[TreeEntry]:
        """Return all entries under a root, excluding the entry at the root."""
        ...

    def tree_version(self, path: str, version: int) -> TreeVersion | None: ...

    def tree_history(self, path: str, before: int | None = None, limit: int = 100) -> list[VersionOutline]:
        """Return versions newest first, including deletions; only those below `before` if it is given."""
        ...

    def tree_snapshot(self, path: str, version: int) -> list[SnapshotChunk]:
        """Return the chunks that were close when this version was saved, best first."""
        ...

    def tree_snapshot_chunks(self, ids: Sequence[int]) -> dict[int, SnapshotChunk]:
        """Return snapshot chunks by id."""
        ...

    def tree_vectors_under(self, root: str, embedder: str | None) -> SnapshotVectors:
        """Return the vectors in the current snapshots of all entries under a root; faster than reading the chunks."""
        ...

    def put_tree_vectors(self, embedder: str, vectors: Mapping[int, NDArray[np.floating[Any]]]) -> None:
        """Store vectors of snapshot chunks by id and replace earlier ones. Skips chunks that no longer exist."""
        ...

    def delete_tree_entries(self, path: str, *, recursive: bool, time: datetime, origin: str) -> list[str]:
        """Delete the entry, and with `recursive` those under it. Returns the deleted paths. The history stays."""
        ...

    def undelete_tree_entries(self, paths: Sequence[str], *, time: datetime, origin: str) -> list[int]:
        """Restore deleted entries as new versions, all or none; returns their version numbers.

        Raises StoreConflict if one of them is not deleted.
        """
        ...

    def restore_tree_entry(
        self, path: str, version: int, *, time: datetime, origin: str, expected_version: int | None = None
    ) -> int:
        """Save an earlier version and its snapshot again as a new version.

        Raises InputError if the version does not exist or is a deletion, and StoreConflict as `put_tree_entry` does.
        """
        ...

    def tree_versions_from(self, path: str, version: int, limit: int) -> list[KeptVersion]:
        """Return up to `limit` complete versions after this one, ordered by path and version, including deletions.

        To iterate over all, start with an empty path and version 0.
        """
        ...
