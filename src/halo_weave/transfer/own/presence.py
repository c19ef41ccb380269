"""Checks whether the memory already has a chunk from a file, or has something else in its place."""

from pathlib import Path

from halo_weave.memory.store.protocol import Store
from halo_weave.records.chunks import Chunk, PlacedToken
from halo_weave.records.numbers import text_of_number
from halo_weave.transfer.refusal import conflict


def is_present(store: Store, chunk: Chunk, path: Path) -> bool:
    """Whether the memory has this chunk. Raises StoreConflict if something else is in its place.

    Chunk boundaries and deletions do not matter: merging does not change the text, and deletions here stay as they are.
    """
    known = store.chunk(chunk.key)
    if known and _content(known.chunk) == _content(chunk):
        return True
    there = store.tokens_by_positions(range(chunk.first_position, chunk.end_position), include_deleted=True)
    if not there and known is None:
        return False
    if [_said(token) for token in there] != _all_said(chunk) or (known and known.chunk.time != chunk.time):
        raise conflict(
            path,
            f"chunk {chunk.key} at position {text_of_number(chunk.first_position)} "
            "differs from the chunk that the memory has in its place",
        )
    return True


def _content(chunk: Chunk) -> tuple[object, ...]:
    return chunk.first_position, chunk.text, chunk.packed_ids, chunk.packed_lengths, chunk.time


def _said(token: PlacedToken) -> tuple[int, int, str, int, str]:
    return token.position, token.token_id, token.text, token.key.turn, token.key.role


def _all_said(chunk: Chunk) -> list[tuple[int, int, str, int, str]]:
    return [
        (chunk.first_position + place, token.id, token.text, chunk.key.turn, chunk.key.role)
        for place, token in enumerate(chunk.tokens())
    ]
