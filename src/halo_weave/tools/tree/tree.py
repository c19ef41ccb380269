"""The memory tree: content that someone chose to keep, stored under paths, each with the chunks it relates to.

Saving overwrites unless the caller names the version that it has read. The history keeps every version.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from halo_weave.errors import InputError
from halo_weave.memory.memory import Memory
from halo_weave.records.chunks import utc_now
from halo_weave.records.tree import SnapshotChunk, VersionOutline, content_of
from halo_weave.records.tree_paths import heading_of, path_of_text, root_of_text
from halo_weave.tools.tree.entries import Entry as Entry
from halo_weave.tools.tree.entries import Saved as Saved
from halo_weave.tools.tree.entries import ScoredEntry as ScoredEntry
from halo_weave.tools.tree.entries import TreeNode as TreeNode
from halo_weave.tools.tree.entries import words_of
from halo_weave.tools.tree.outline import text_of, tree_of
from halo_weave.tools.tree.search import TreeSearch

CONTEXT_TOKENS = 1000
MOST_CONTEXT_TOKENS = 32_768
RECENCY_BIAS = 0.3
_CANDIDATES = 50
_QUERY_CHARACTERS = 1000
"""About as much as an embedder reads; further text would only count in the word search."""
_NAMED_CHILDREN = 5
# Aliases, because `list` is also a method of the class.
PathList = list[str]
History = list[VersionOutline]
Snapshot = list[SnapshotChunk]


class UnknownPath(InputError):
    pass


class MemoryTree:
    """Thread-safe. Checks paths and JSON; InputError says what is wrong with them."""

    def __init__(self, memory: Memory, clock: Callable[[], datetime] = utc_now) -> None:
        self._memory = memory
        self._store = memory.store
        self._clock = clock
        self._search = TreeSearch(memory)

    def save(
        self,
        path: str,
        content: Any,
        context_tokens: int = CONTEXT_TOKENS,
        *,
        origin: str,
        expected_version: int | None = None,
        without_turn: int | None = None,
    ) -> Saved:
        """Save JSON under a path, with a snapshot of the most similar chunks in memory.

        Chunks of `without_turn` are excluded: that turn is the reply that saves, not what the content is about.
        With `expected_version` (0: no entry), raises StoreConflict if the entry is at another version.
        """
        path = path_of_text(path)
        text = content_of(path, content)
        if type(context_tokens) is not int or not 0 <= context_tokens <= MOST_CONTEXT_TOKENS:
            raise InputError(
                f"context_tokens for {path!r} is {context_tokens!r}, but must be from 0 to {MOST_CONTEXT_TOKENS:,}; "
                "nothing was saved."
            )
        as_of = self._store.change_number()
        snapshot = self._snapshot(path, content, context_tokens, without_turn)
        version = self._store.put_tree_entry(
            path, text, snapshot, time=self._clock(), origin=origin, expected_version=expected_version, as_of=as_of
        )
        return Saved(path, version, sum(one.token_count for one in snapshot), len(snapshot))

    def query(self, path: str) -> Entry:
        """Return the entry at a path with its snapshot, and record the access. Raises UnknownPath if there is none."""
        entry = self.entry(path)
        self._store.touch_tree_entry(entry.path, now := self._clock())
        return msgspec.structs.replace(entry, accessed=now)

    def entry(self, path: str) -> Entry:
        """Like `query`, but without recording the access."""
        path = path_of_text(path)
        found = self._store.tree_entry(path)
        if found is None:
            raise self._unknown(path)
        content = msgspec.json.decode(found.content)
        snapshot = self._store.tree_snapshot(path, found.version)
        return Entry(path, content, found.version, found.created, found.modified, found.accessed, snapshot)

    def query_heading(
        self, path: str, query: str | None = None, recency_bias: float = RECENCY_BIAS
    ) -> list[ScoredEntry]:
        """Return everything under a heading at any level, but not the entry at it: best first, or newest first.

        The score is (1 - bias) * similarity + bias * exp(-age / 30 days). Raises UnknownPath if nothing is under it.
        """
        path = root_of_text(path)
        if not 0 <= recency_bias <= 1:
            raise InputError(f"recency_bias is {recency_bias!r}, but must be a number from 0 to 1.")
        entries = self._store.tree_entries_under(path)
        if not entries and path:
            is_entry = self._store.tree_entry(path) is not None
            raise UnknownPath(f"There is nothing under {path!r}{', only an entry at this path' if is_entry else ''}.")
        return self._search.scored(path, entries, query or "", recency_bias, self._clock())

    def list(self, root: str = "") -> TreeNode:
        """Return the headings at and below a root. Raises UnknownPath if there are none, except for the whole tree."""
        root = root_of_text(root)
        outlines = self._store.tree_outlines(root)
        if root and not outlines:
            raise self._unknown(root)
        return tree_of(root, outlines)

    def delete(self, path: str, recursive: bool = False, *, origin: str) -> PathList:
        """Delete the entry at a path and, with `recursive`, everything under it. Returns the deleted paths.

        Raises UnknownPath if there is nothing to delete. `undelete` reverts it.
        """
        path = path_of_text(path)
        gone = self._store.delete_tree_entries(path, recursive=recursive, time=self._clock(), origin=origin)
        if not gone:
            raise self._unknown(path)
        return gone

    def undelete(self, paths: Sequence[str], *, origin: str) -> PathList:
        """Restore deleted entries, all or none."""
        known = [path_of_text(path) for path in paths]
        self._store.undelete_tree_entries(known, time=self._clock(), origin=origin)
        return known

    def history(self, path: str, before: int | None = None, limit: int = 100) -> History:
        """Return versions, newest first, including deletions. Raises UnknownPath if there never were any."""
        path = path_of_text(path)
        found = self._store.tree_history(path, before, limit)
        if not found and before is None:
            raise self._unknown(path)
        return found

    def version(self, path: str, version: int) -> Entry:
        """Return an earlier version of an entry. Its `accessed` is the time when it was saved."""
        path = path_of_text(path)
        found = self._store.tree_version(path, version)
        if found is None or found.content is None:
            what = "is its deletion" if found else "does not exist"
            raise UnknownPath(f"Version {version} of the memory at {path!r} {what}.")
        snapshot = self._store.tree_snapshot(path, version)
        content = msgspec.json.decode(found.content)
        return Entry(path, content, version, found.created, found.time, found.time, snapshot)

    def restore(self, path: str, version: int, *, origin: str, expected_version: int | None = None) -> Saved:
        """Save an earlier version again as the newest, with its snapshot. Works for deleted entries too."""
        path = path_of_text(path)
        new = self._store.restore_tree_entry(
            path, version, time=self._clock(), origin=origin, expected_version=expected_version
        )
        snapshot = self._store.tree_snapshot(path, new)
        return Saved(path, new, sum(one.token_count for one in snapshot), len(snapshot))

    def outline(self, levels: int = 2, most_characters: int = 2000) -> str:
        """Format the top of the tree as a few lines that show what exists; empty if the tree is empty."""
        return text_of(self.list(), levels, most_characters)

    def _snapshot(self, path: str, content: Any, context_tokens: int, without_turn: int | None) -> Snapshot:
        if context_tokens == 0:
            return []
        query = f"{heading_of(path)} {words_of(content)}"[:_QUERY_CHARACTERS]
        chosen, room = [], context_tokens
        for hit in self._memory.search(query, limit=_CANDIDATES):
            if hit.chunk.token_count <= room and hit.chunk.key.turn != without_turn:
                room -= hit.chunk.token_count
                chosen.append(hit)
        embedder = self._store.serving_embedder()
        vectors = {} if embedder is None else self._vectors(embedder, [hit.id for hit in chosen])
        return [
            SnapshotChunk(
                chunk=hit.chunk,
                similarity=hit.similarity or 0.0,
                embedder=embedder if hit.id in vectors else None,
                vector=vectors.get(hit.id),
            )
            for hit in chosen
        ]

    def _vectors(self, embedder: str, ids: Sequence[int]) -> dict[int, NDArray[np.float32]]:
        """Return vectors from the index. Chunks that have none yet are embedded when they are searched."""
        found, vectors = self._store.vectors_by_ids(embedder, ids)
        return dict(zip(found.tolist(), vectors.astype(np.float32), strict=True))

    def _unknown(self, path: str) -> UnknownPath:
        """Build an error that names existing paths below, because a path is easily mistaken."""
        under = [entry.path for entry in self._store.tree_entries_under(path)]
        if not under:
            return UnknownPath(f"The memory tree has nothing at {path!r}.")
        named = ", ".join(under[:_NAMED_CHILDREN]) + (" and more" if len(under) > _NAMED_CHILDREN else "")
        return UnknownPath(f"The memory tree has no entry at {path!r}, but {len(under)} below it: {named}.")
