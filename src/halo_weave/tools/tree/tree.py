"""The memory tree: what somebody decided to keep, under paths, each with the chunks that it was about.

Whoever saves overwrites, unless they say which version they have read; every version stays in the history.
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
"""About what an embedder reads; the rest would count for words alone."""
_NAMED_CHILDREN = 5
# The class has a method `list`.
PathList = list[str]
History = list[VersionOutline]
Snapshot = list[SnapshotChunk]


class UnknownPath(InputError):
    pass


class MemoryTree:
    """May be used from several threads. Paths and JSON are checked here; InputError says what is wrong with them."""

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
        """Keep JSON under a path, with the chunks of the memory that are nearest to it, but none of `without_turn`: the
        reply that saves it is not what it is about.

        With `expected_version` (0: nothing is there) StoreConflict if it is another one by now; without, it overwrites.
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
        """What is at a path, with its snapshot; notes that it was read. UnknownPath if there is nothing."""
        entry = self.entry(path)
        self._store.touch_tree_entry(entry.path, now := self._clock())
        return msgspec.structs.replace(entry, accessed=now)

    def entry(self, path: str) -> Entry:
        """The same without a note."""
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
        """Everything under a heading, whatever the level, without the entry at it: the best first, or the newest.

        The score is (1 - bias) * similarity + bias * exp(-age / 30 days). UnknownPath if there is nothing under it.
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
        """The headings at and below a root. UnknownPath if there is nothing; the whole tree may be empty."""
        root = root_of_text(root)
        outlines = self._store.tree_outlines(root)
        if root and not outlines:
            raise self._unknown(root)
        return tree_of(root, outlines)

    def delete(self, path: str, recursive: bool = False, *, origin: str) -> PathList:
        """Delete the entry at a path, with `recursive` also all under it; gives the paths that went.

        UnknownPath if there is nothing to delete. `undelete` brings it back.
        """
        path = path_of_text(path)
        gone = self._store.delete_tree_entries(path, recursive=recursive, time=self._clock(), origin=origin)
        if not gone:
            raise self._unknown(path)
        return gone

    def undelete(self, paths: Sequence[str], *, origin: str) -> PathList:
        """Bring deleted entries back, all or none."""
        known = [path_of_text(path) for path in paths]
        self._store.undelete_tree_entries(known, time=self._clock(), origin=origin)
        return known

    def history(self, path: str, before: int | None = None, limit: int = 100) -> History:
        """Newest first, deletions too. UnknownPath if there never was anything."""
        path = path_of_text(path)
        found = self._store.tree_history(path, before, limit)
        if not found and before is None:
            raise self._unknown(path)
        return found

    def version(self, path: str, version: int) -> Entry:
        """An entry as it was; `accessed` is when it was saved."""
        path = path_of_text(path)
        found = self._store.tree_version(path, version)
        if found is None or found.content is None:
            what = "is its deletion" if found else "does not exist"
            raise UnknownPath(f"Version {version} of the memory at {path!r} {what}.")
        snapshot = self._store.tree_snapshot(path, version)
        content = msgspec.json.decode(found.content)
        return Entry(path, content, version, found.created, found.time, found.time, snapshot)

    def restore(self, path: str, version: int, *, origin: str, expected_version: int | None = None) -> Saved:
        """Save an earlier version once more, with its snapshot, as the newest; also what was deleted."""
        path = path_of_text(path)
        new = self._store.restore_tree_entry(
            path, version, time=self._clock(), origin=origin, expected_version=expected_version
        )
        snapshot = self._store.tree_snapshot(path, new)
        return Saved(path, new, sum(one.token_count for one in snapshot), len(snapshot))

    def outline(self, levels: int = 2, most_characters: int = 2000) -> str:
        """The top of the tree in a few lines, for whoever should know what there is; empty if nothing is."""
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
        """Those of the index; what has none yet is embedded when it is searched."""
        found, vectors = self._store.vectors_by_ids(embedder, ids)
        return dict(zip(found.tolist(), vectors.astype(np.float32), strict=True))

    def _unknown(self, path: str) -> UnknownPath:
        """Says what there is instead, since a path is easily mistaken."""
        under = [entry.path for entry in self._store.tree_entries_under(path)]
        if not under:
            return UnknownPath(f"The memory tree has nothing at {path!r}.")
        named = ", ".join(under[:_NAMED_CHILDREN]) + (" and more" if len(under) > _NAMED_CHILDREN else "")
        return UnknownPath(f"The memory tree has no entry at {path!r}, but {len(under)} below it: {named}.")
