"""Entries, versions and snapshots of the memory tree that the memory stores and returns."""

import math
from datetime import datetime
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from halo_weave.errors import InputError
from halo_weave.records.chunks import Chunk, ChunkKey, require_aware, require_whole_characters
from halo_weave.records.tokens import Token
from halo_weave.records.tree_paths import path_of_text

LARGEST_CONTENT_BYTES = 64 * 1024
DEEPEST_CONTENT = 64
"""Maximum nesting of lists and objects. A later reader may have less stack left."""
_LARGEST_VERSION = 2**63 - 1


class SnapshotChunk(msgspec.Struct, frozen=True, eq=False):
    """A copy of a chunk from when an entry was saved, and its similarity to that entry.

    `vector` comes from the index of `embedder` or was computed from the text alone; both are None until there is one.
    `id` is its id in the store.
    """

    chunk: Chunk
    similarity: float
    embedder: str | None = None
    vector: NDArray[np.float32] | None = None
    id: int = 0

    def __post_init__(self) -> None:
        if not math.isfinite(self.similarity):
            raise InputError(f"The similarity {self.similarity!r} of chunk {self.key} is not a number.")
        if (self.embedder is None) != (self.vector is None):
            raise InputError(f"The vector of chunk {self.key} and its embedder's name must be given together.")

    @property
    def key(self) -> ChunkKey:
        return self.chunk.key

    @property
    def first_position(self) -> int:
        return self.chunk.first_position

    @property
    def end_position(self) -> int:
        return self.chunk.end_position

    @property
    def text(self) -> str:
        return self.chunk.text

    @property
    def time(self) -> datetime:
        return self.chunk.time

    @property
    def tokens(self) -> list[Token]:
        return self.chunk.tokens()

    @property
    def token_count(self) -> int:
        return self.chunk.token_count


class SnapshotVectors(NamedTuple):
    """Vectors of one embedder. Each row of `vectors` has a path and the id of a chunk in that path's snapshot.

    `others` lists paths and ids of chunks without a vector by this embedder.
    """

    paths: list[str]
    ids: list[int]
    vectors: NDArray[np.float32]
    others: list[tuple[str, int]]


class TreeVersion(msgspec.Struct, frozen=True):
    """A version of an entry; `content` is JSON text, or None if this version is a deletion.

    `created` is when the entry was first saved, or first saved again after a deletion.
    """

    path: str
    version: int
    created: datetime
    time: datetime
    origin: str
    content: str | None

    def __post_init__(self) -> None:
        where = f"the memory at {self.path!r:.80}"
        if path_of_text(self.path) != self.path:
            raise InputError(f"{self.path!r:.80} is not a valid path.")
        if type(self.version) is not int or not 0 < self.version < _LARGEST_VERSION:
            raise InputError(f"The version {self.version!r} of {where} is not a whole number of at least 1.")
        require_whole_characters(where, self.origin)
        for time in (self.created, self.time):
            require_aware(where, time)
        if self.content is not None:
            require_content(self.path, self.content)


class TreeEntry(NamedTuple):
    """The current version at a path, without its snapshot; `content` is JSON text."""

    path: str
    version: int
    created: datetime
    modified: datetime
    accessed: datetime
    content: str


class TreeOutline(NamedTuple):
    """Like `TreeEntry`, but with only the `beginning` and the size of the content, which is faster to read."""

    path: str
    version: int
    created: datetime
    modified: datetime
    accessed: datetime
    beginning: str
    characters: int


class VersionOutline(NamedTuple):
    """One version in the history of a path."""

    version: int
    time: datetime
    origin: str
    is_deletion: bool
    characters: int
    chunks: int


def content_of(path: str, value: Any) -> str:
    """Encode a JSON value as text. Raises InputError if it is not valid JSON, too large or too deeply nested."""
    try:
        text = msgspec.json.encode(value).decode()
        is_same = msgspec.json.decode(text) == value
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError):
        is_same, text = False, ""
    if not is_same:
        raise InputError(f"The content for {path!r:.80} is not JSON that can be saved without loss; nothing was saved.")
    require_content(path, text)
    return text


def require_content(path: str, text: str) -> None:
    require_whole_characters(f"the memory at {path!r:.80}", text)
    if (size := len(text.encode())) > LARGEST_CONTENT_BYTES:
        raise InputError(
            f"The content for {path!r:.80} has {size:,} bytes as JSON; the limit is {LARGEST_CONTENT_BYTES:,}. Save it "
            "in parts at several paths."
        )
    try:
        value = msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        raise InputError(f"The content for {path!r:.80} is not JSON, or is nested too deeply.") from None
    level = [value]
    for _ in range(DEEPEST_CONTENT + 1):
        level = [inner for outer in level for inner in _inside(outer)]
    if level:
        raise InputError(f"The content for {path!r:.80} is nested more than {DEEPEST_CONTENT} levels deep.")


def _inside(outer: Any) -> list[Any]:
    if isinstance(outer, dict):
        return list(outer.values())
    return outer if isinstance(outer, list) else []
