"""What the colours of a context can stand for beside brightness: what the newest message looks at, and what would be
kept."""

import numpy as np
from numpy.typing import NDArray

from halo_weave.records.chunks import ChunkKey
from halo_weave.session.window.deleting import chunks_of, text_of
from halo_weave.session.window.window import Window
from halo_weave.weave.context import LiveChunk
from halo_weave.weave.living import TurnKey


def looks_of_newest_message(window: Window) -> dict[ChunkKey, NDArray[np.float32]]:
    """The share of the newest message's attention that each token of the context before it gets, by the reader's
    looking head. Chunks that the reader has not read yet are missing."""
    with window.life.lock:
        newest = window.newest
        chunks = [] if newest is None else [one for one in window.life.context if one.key.turn < newest.turn_user]
    if newest is None or not chunks:
        return {}
    message = text_of(chunks_of(window, TurnKey(newest.turn_user, "user")))
    found = window.memory.shares_of_attention(message, [chunk.key for chunk in chunks])
    shares = {chunk.key: _by_token(found[chunk.key], chunk) for chunk in chunks if chunk.key in found}
    return {key: own for key, own in shares.items() if own is not None}


def order_of_leaving(window: Window) -> list[ChunkKey]:
    """The chunks that may leave, in the order in which they would if the context had to shrink to nothing."""
    with window.life.lock:
        return [burial.key for burial in window.life.plan_pruning(1, window.life.current).burials]


def _by_token(shares: NDArray[np.float32], chunk: LiveChunk) -> NDArray[np.float32] | None:
    ends = np.cumsum([0, *(len(token.text) for token in chunk.tokens)])
    if ends[-1] != len(shares):
        return None  # the chunk was merged meanwhile
    sums = np.concatenate([[0.0], np.cumsum(shares, dtype=np.float64)])
    by_token: NDArray[np.float32] = np.diff(sums[ends]).astype(np.float32)
    return by_token
