"""What the memory tree tells of its entries."""

from datetime import datetime
from typing import Any

import msgspec

from halo_weave.records.tree import SnapshotChunk, TreeOutline


class Saved(msgspec.Struct, frozen=True):
    """`chunks` were near to what was saved and went along, with `snapshot_tokens` tokens."""

    path: str
    version: int
    snapshot_tokens: int
    chunks: int


class Entry(msgspec.Struct, frozen=True, eq=False):
    """What is at a path, or was as of an earlier version; the snapshot has the best chunk first."""

    path: str
    content: Any
    version: int
    created: datetime
    modified: datetime
    accessed: datetime
    snapshot: list[SnapshotChunk]


class NearChunk(msgspec.Struct, frozen=True, eq=False):
    """A chunk of a snapshot and how near it is to a question."""

    chunk: SnapshotChunk
    similarity: float


class ScoredEntry(msgspec.Struct, frozen=True, eq=False):
    """An entry under a heading. `similarity` is that of its best chunk, None if nothing was asked for.

    `chunks` are those that are near to the question, the nearest first.
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
    """A heading: what is saved at it, if anything, and the headings below it."""

    heading: str
    path: str
    entry: TreeOutline | None
    children: list["TreeNode"]

    def count(self) -> int:
        """Entries at and under it."""
        return (self.entry is not None) + sum(child.count() for child in self.children)


def words_of(content: Any) -> str:
    """The names and values of JSON without its signs, as something to search with."""
    if isinstance(content, dict):
        return " ".join(f"{name} {words_of(value)}" for name, value in content.items())
    if isinstance(content, list):
        return " ".join(map(words_of, content))
    return "" if content is None else str(content)
