"""A window with a conversation of any length, written straight into a memory: nobody waits for so many replies."""

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

from halo_weave.memory.embedders import minilm
from halo_weave.memory.sqlite.store import SqliteStore
from halo_weave.records.chunks import Chunk, ChunkKey
from halo_weave.records.roles import Role
from halo_weave.records.tokens import Token
from halo_weave.records.windows import BurialRecord, WindowRecord
from halo_weave.session.window.reviving import metadata_of
from halo_weave.session.window.saved_window import SavedWindow, encoded

WINDOW_ID = "1009"
REASON = "Left because it added least."
_AT_ONCE = 2000
_DIMENSIONS = 384
_APART = timedelta(minutes=10)


def write_long_window(path: Path, name: str, turns: int, text: Callable[[int], str], last: datetime) -> None:
    """Write a window with so many turns of one chunk each, all out of context; the newest was said at `last`.

    `text` gives the words of a turn by its number, starting at 1. Vectors are made up, so that nothing is embedded
    while somebody measures.
    """
    store = SqliteStore(path)
    try:
        first = store.stats()
        turn, position = first.next_turn, first.next_position
        chunks: list[Chunk] = []
        for number in range(1, turns + 1):
            role: Role = "user" if number % 2 else "assistant"
            chunks.append(
                Chunk.of_tokens(
                    ChunkKey(turn + number - 1, 0, role),
                    [Token(place, piece) for place, piece in enumerate(text(number).replace(" ", "\0 ").split("\0"))],
                    first_position=position,
                    time=last - _APART * (turns - number),
                    metadata=metadata_of(WINDOW_ID, "none", {}),
                )
            )
            position = chunks[-1].end_position
        store.advance(next_turn=turn + turns + turns % 2, next_position=position)
        random = np.random.default_rng(1)
        for start in range(0, turns, _AT_ONCE):
            ids = store.write_chunks(chunks[start : start + _AT_ONCE])
            vectors = random.standard_normal((len(ids), _DIMENSIONS), dtype=np.float32)
            store.put_vectors(minilm.NAME, dict(zip(ids, vectors.astype(np.float16), strict=True)))
        store.serve_embedder(minilm.NAME)
        buried = [BurialRecord(chunk.key, chunk.first_position, 0.0, REASON, last) for chunk in chunks]
        saved = encoded(SavedWindow(scorer="", chunks=(), messages=(turns + 1) // 2))
        store.put_window(WindowRecord(WINDOW_ID, name, saved, 0, last), buried=buried)
    finally:
        store.close()
