"""Deletes or supersedes chunks: marks them in the memory and removes them from the window."""

from collections.abc import Sequence

from halo_weave.records.chunks import Chunk, ChunkKey
from halo_weave.session.window.chunk_json import key_to_json
from halo_weave.session.window.window import Window
from halo_weave.weave.living import TurnKey

DELETED, SUPERSEDED = "window", "superseded"
"""Origins of deletions in the memory's audit log."""
DELETION_REASONS = {DELETED: "Deleted.", SUPERSEDED: "Superseded by a newer version."}


def chunks_of(window: Window, turn: TurnKey) -> list[Chunk]:
    """The chunks of a turn that are not deleted, in order."""
    stored = (entry.chunk for entry in window.memory.chunks_of_turn(turn.turn))
    return [chunk for chunk in stored if chunk.key.role == turn.role and not chunk.deleted]


def text_of(chunks: Sequence[Chunk]) -> str:
    return "".join(chunk.text for chunk in chunks)


def delete_exchange(window: Window, turn: int, origin: str) -> tuple[ChunkKey, ...]:
    """Delete a question and its answer, by the turn of the question; returns the deleted keys."""
    both = (*chunks_of(window, TurnKey(turn, "user")), *chunks_of(window, TurnKey(turn + 1, "assistant")))
    keys = tuple(chunk.key for chunk in both)
    window.memory.delete(keys, origin)
    if window.newest is not None and window.newest.turn_user == turn:
        window.set_newest(None)
    _take_out(window, keys, origin, is_whole_exchange=True)
    return keys


def delete_chunk(window: Window, key: ChunkKey) -> None:
    window.memory.delete([key], DELETED)
    _take_out(window, [key], DELETED, is_whole_exchange=False)


def _take_out(window: Window, keys: Sequence[ChunkKey], origin: str, *, is_whole_exchange: bool) -> None:
    window.remember_deletion(window.drop(keys, DELETION_REASONS[origin], is_whole_exchange=is_whole_exchange))
    window.log.tell("deleted", keys=[key_to_json(key) for key in keys], origin=origin)
    window.save()
