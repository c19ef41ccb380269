"""The values that the memory tree returns for its entries."""

from datetime import datetime
from typing import Any

import msgspec

from halo_weave.records.tree import SnapshotChunk, TreeOutline


class Saved(msgspec.Struct, frozen=True):
    """The result of a save: its snapshot has `chunks` related chunks with `snapshot_tokens` tokens in all."""

    path: str
    version: int
    snapshot_tokens: int
    chunks: int


class Entry(msgspec.Struct, frozen=True, eq=False):
    """The entry at a path, now or at an earlier version. Its snapshot has the best chunk first."""

    path: str
    content: Any
    version: int
    created: datetime
    modified: datetime
    accessed: datetime
    snapshot: list[SnapshotChunk]


class NearChunk(msgspec.Struct, frozen=True, eq=False):
    """A chunk of a snapshot and its similarity to a query."""

    chunk: SnapshotChunk
    similarity: float


class ScoredEntry(msgspec.Struct, frozen=True, eq=False):
    """An entry under a heading. `similarity` is that of its best chunk, or of its own text if it has no snapshot.

    It is None without a query. `chunks` are those similar to the query, the most similar first.
    """

    path: str
    content: Any
    version: int
    created: datetime
    modified: datetime
    score: float
    similarity: float | None
    recency: float
    chunks: list[NearChunk]


class TreeNode(msgspec.Struct, frozen=True):
    """A heading: the entry saved at it, if any, and the headings below it."""

    heading: str
    path: str
    entry: TreeOutline | None
    children: list["TreeNode"]

    def count(self) -> int:
        """Return the number of entries at this heading and below it."""
        return (self.entry is not None) + sum(child.count() for child in self.children)


def words_of(content: Any) -> str:
    """Return the names and values in JSON content as plain words, for use as a search query."""
    if isinstance(content, dict):
        return " ".join(f"{name} {words_of(value)}" for name, value in content.items())
    if isinstance(content, list):
        return " ".join(map(words_of, content))
    return "" if content is None else str(content)
