"""Chunks and related records that the memory stores and returns. Each validates itself when it is created."""

import itertools
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, Self

import msgspec
import numpy as np
from numpy.typing import NDArray

from halo_weave.errors import InputError
from halo_weave.records.numbers import require_number, text_of_number
from halo_weave.records.packing import pack, packed_count, packed_total, require_packed, unpack
from halo_weave.records.roles import ROLES, Role
from halo_weave.records.tokens import Token

Action = Literal["delete", "undelete", "merge", "forget", "clear"]
VectorMatrix = NDArray[np.float16] | NDArray[np.float32]
Span = tuple[int, int]
"""A range of characters of a text: start and end."""

_LARGEST_INDEX = 2**63 - 1


class Reservation(msgspec.Struct, frozen=True):
    """Two turns and the positions from `position_start` to `position_end`, exclusive, that no one else gets."""

    turn_user: int
    turn_assistant: int
    position_start: int
    position_end: int


class ChunkKey(msgspec.Struct, frozen=True, order=True):
    """A chunk's identity, never reused. `index` counts the chunks of a turn from 0."""

    turn: int
    index: int
    role: Role

    def __str__(self) -> str:
        return f"{text_of_number(self.turn)}:{self.index} ({self.role})"


class Chunk(msgspec.Struct, frozen=True):
    """A piece of a turn whose tokens have consecutive positions.

    `packed_ids` and `packed_lengths` have one entry per token: its id, and how many characters of `text` it
    contributes. `embedder` names the embedder whose vector was stored last; the store fills it in on reading and
    ignores it on writing.
    """

    key: ChunkKey
    text: str
    packed_ids: bytes
    packed_lengths: bytes
    first_position: int
    time: datetime
    metadata: dict[str, Any] | None = None
    embedder: str | None = None
    deleted: bool = False
    deleted_at: datetime | None = None
    undeleted_at: datetime | None = None

    def __post_init__(self) -> None:
        _require_key(self.key)
        require_number(self.first_position)
        require_whole_characters(self.key, self.text)
        _require_pieces(self)
        for time in (self.time, self.deleted_at, self.undeleted_at):
            require_aware(self.key, time)
        _require_json(self.key, self.metadata)

    @classmethod
    def of_tokens(
        cls,
        key: ChunkKey,
        tokens: Sequence[Token],
        *,
        first_position: int,
        time: datetime,
        metadata: dict[str, Any] | None = None,
    ) -> Self:
        return cls(
            key=key,
            text="".join(token.text for token in tokens),
            packed_ids=pack([token.id for token in tokens]),
            packed_lengths=pack([len(token.text) for token in tokens]),
            first_position=first_position,
            time=time,
            metadata=metadata,
        )

    @property
    def token_ids(self) -> NDArray[np.int32]:
        return unpack(self.packed_ids)

    @property
    def token_count(self) -> int:
        return packed_count(self.packed_ids)

    @property
    def end_position(self) -> int:
        """The position after the last token."""
        return self.first_position + self.token_count

    def tokens(self) -> list[Token]:
        ends = list(itertools.accumulate(unpack(self.packed_lengths).tolist(), initial=0))
        pieces = (self.text[start:end] for start, end in itertools.pairwise(ends))
        return [Token(token_id, piece) for token_id, piece in zip(self.token_ids.tolist(), pieces, strict=True)]


class Stored(NamedTuple):
    """A chunk with its id in this store, which words and vectors refer to."""

    id: int
    chunk: Chunk


class Record(NamedTuple):
    """A chunk in the record. `merged_into` is the index of the chunk, of the same turn and role, that contains it
    now."""

    chunk: Chunk
    merged_into: int | None = None


class PlacedToken(NamedTuple):
    position: int
    token_id: int
    text: str
    key: ChunkKey


class Changed(NamedTuple):
    """The chunks that a request changed, and those that were already in the requested state."""

    changed: tuple[ChunkKey, ...]
    unchanged: tuple[ChunkKey, ...]


class AuditEntry(msgspec.Struct, frozen=True):
    """Who changed what in the record, and when.

    `merge` names the chunk that was merged into the one before it. Only `clear` names no chunk.
    """

    number: int
    time: datetime
    origin: str
    action: Action
    key: ChunkKey | None

    def __post_init__(self) -> None:
        if (self.key is None) != (self.action == "clear"):
            needed = "no chunk" if self.action == "clear" else "a chunk"
            raise InputError(f"An entry of the log for {self.action!r} must name {needed}.")
        if self.key is not None:
            _require_key(self.key)


class WordMatch(NamedTuple):
    """`score` is BM25; higher is better."""

    id: int
    score: float


class WordCounts(NamedTuple):
    """The number of searchable chunks, and how many of them contain each term."""

    chunks: int
    having: list[int]


PART = 32
"""Number of consecutive ids, and so roughly of chunks, in one part of the memory."""


class WordPlaces(NamedTuple):
    """How often each term occurs in each requested chunk, one row per term.

    `having` is the number of the memory's `parts` that contain each term.
    """

    frequencies: NDArray[np.float64]
    having: NDArray[np.int64]
    parts: int


class Outline(NamedTuple):
    """What a search needs to know about a chunk before showing it. `metadata` is None unless requested."""

    id: int
    role: Role
    first_position: int
    time: datetime
    deleted: bool
    turn_chunks: int
    """The number of chunks in its turn."""
    speaker: str | None
    """The speaker of its turn, if the turn itself names one."""
    metadata: dict[str, Any] | None


class VectorChanges(NamedTuple):
    """Changes of an embedder's vectors, each chunk at most once; continue from `change_number`.

    `vectors` has a row for each of `ids`; the vectors of `removed` are gone.
    """

    change_number: int
    ids: NDArray[np.int64]
    vectors: VectorMatrix
    removed: NDArray[np.int64]


class Stats(msgspec.Struct, frozen=True):
    """`chunks` and `tokens` exclude merged-away chunks but include the `deleted_chunks`."""

    chunks: int
    deleted_chunks: int
    merged_chunks: int
    tokens: int
    next_turn: int
    next_position: int
    vectors: dict[str, int]
    change_number: int
    schema_version: int
    bytes: int


def utc_now() -> datetime:
    return datetime.now(UTC)


def _require_key(key: ChunkKey) -> None:
    require_number(key.turn)
    if key.role not in ROLES:
        raise InputError(f"The role {key.role!r} is not one of {', '.join(ROLES)}.")
    if type(key.index) is not int or not 0 <= key.index <= _LARGEST_INDEX:
        raise InputError(f"The index {key.index!r} of a chunk is not a whole number from 0 to {_LARGEST_INDEX}.")


def _in_words(where: str | ChunkKey) -> str:
    """Called only on errors, because chunks are created by the thousand."""
    return f"chunk {where}" if isinstance(where, ChunkKey) else where


def require_whole_characters(where: str | ChunkKey, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"The text of {_in_words(where)} has an unpaired surrogate at index {error.start}, which cannot be saved."
        ) from None


def _require_pieces(chunk: Chunk) -> None:
    for packed in (chunk.packed_ids, chunk.packed_lengths):
        require_packed(packed)
    tokens, pieces = packed_count(chunk.packed_ids), packed_count(chunk.packed_lengths)
    if tokens == 0:
        raise InputError(f"Chunk {chunk.key} has no tokens.")
    if pieces != tokens:
        raise InputError(f"Chunk {chunk.key} has {tokens} tokens, but {pieces} pieces of text.")
    if (characters := packed_total(chunk.packed_lengths)) != len(chunk.text):
        raise InputError(
            f"The pieces of chunk {chunk.key} have {characters} characters, but its text has {len(chunk.text)}."
        )


def require_aware(where: str | ChunkKey, time: datetime | None) -> None:
    if time is not None and time.tzinfo is None:
        raise InputError(f"The time {time} of {_in_words(where)} has no time zone.")


def _require_json(key: ChunkKey, metadata: object) -> None:
    if metadata is None:
        return
    try:
        is_json = isinstance(metadata, dict) and msgspec.json.decode(msgspec.json.encode(metadata)) == metadata
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError):
        is_json = False
    if not is_json:
        raise InputError(f"The metadata of chunk {key} is not a JSON object that can be saved without loss.")
