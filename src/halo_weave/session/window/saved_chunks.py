"""Loads the current form of a saved window's chunks, all at once rather than one by one."""

from collections.abc import Iterable

from halo_weave.memory.memory import Memory
from halo_weave.records.chunks import Chunk, ChunkKey
from halo_weave.records.numbers import number_of_text
from halo_weave.session.window.saved_window import SavedChunk
from halo_weave.weave.living import ANCHOR, turn_of


class SavedChunks:
    """Needs two reads of the memory, however many chunks there are."""

    def __init__(self, memory: Memory, saved: Iterable[SavedChunk]) -> None:
        keys = {one.key.key for one in saved}
        stored = memory.chunks_by_keys(keys | {_anchor(key) for key in keys})
        self._by_key = {key: entry.chunk for key, entry in stored.items()}
        # Load turns with missing chunks completely: the chunks were merged, or the turn now starts with another chunk.
        incomplete = {key.turn for key in keys if key not in stored or _anchor(key) not in stored}
        self._of_incomplete = [entry.chunk for entry in memory.chunks_of_turns(incomplete)] if incomplete else []

    def as_it_is_now(self, saved: SavedChunk) -> Chunk | None:
        """The chunk itself, or the one that it was merged into."""
        key, position = saved.key.key, number_of_text(saved.position)
        around = (one for one in self._of_incomplete if one.first_position <= position < one.end_position)
        return self._by_key.get(key) or next((one for one in around if turn_of(one.key) == turn_of(key)), None)

    def turn_start(self, chunk: Chunk) -> int:
        """The first position of the chunk's turn."""
        if (anchor := self._by_key.get(_anchor(chunk.key))) is not None:
            return anchor.first_position
        return min(one.first_position for one in self._of_incomplete if turn_of(one.key) == turn_of(chunk.key))


def _anchor(key: ChunkKey) -> ChunkKey:
    return ChunkKey(key.turn, ANCHOR, key.role)
