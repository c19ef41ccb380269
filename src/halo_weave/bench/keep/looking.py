"""Orders by what the user's messages looked at: does having been looked at predict being needed later?

The reader reads each of the user's messages and looks at the chunks said before it, as in a search of the memory. What
a chunk was looked at by all messages is one number, in several ways. No order knows the questions.
"""

from collections.abc import Callable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from halo_weave.bench.keep.feeding import FedConversation
from halo_weave.bench.keep.ranking import ChunkValues
from halo_weave.engine.reader.protocol import Keys, Reader
from halo_weave.memory.attention import looking
from halo_weave.memory.attention.reading import AT_ONCE
from halo_weave.weave.worth import middle_ranks

Looks = NDArray[np.float64]
"""A row for each message, with its attention to each chunk; NaN for chunks that were not said before it."""

_FEWEST_CHUNKS = 4
"""A message with fewer chunks before it does not count: nothing can stand out among them."""
_PRIOR_MESSAGES = 8
"""A mean counts as many average messages besides its own, so that chunks with few messages after them stay average."""
_FAR_CHUNKS = 8
_HALF_LIFE = 32
"""Messages after which a look counts half."""
_CHUNKS_AROUND = 32
"""Chunks that are enough to read the next ones with the text before them."""


def looks_of(reader: Reader, fed: FedConversation) -> Looks:
    """Let the reader read a conversation, and each message of the user look at what was said before."""
    keys = dict(enumerate(_keys(reader, fed)))
    turn_of = np.array([chunk.turn for chunk in fed.chunks])
    rows = []
    for number, turn in enumerate(fed.turns):
        before = int(np.searchsorted(turn_of, number))
        if turn.role != "user" or before < _FEWEST_CHUNKS:
            continue
        row = np.full(len(fed.chunks), np.nan)
        message = "".join(text for chunk in fed.chunks if chunk.turn == number for text in chunk.texts)
        row[:before] = looking.attention(reader.look(message), keys, range(before))
        rows.append(row)
    return np.array(rows).reshape(len(rows), len(fed.chunks))


def _keys(reader: Reader, fed: FedConversation) -> Iterator[Keys]:
    texts = ["".join(chunk.texts) for chunk in fed.chunks]
    for start in range(0, len(texts), AT_ONCE):
        before = "\n".join(texts[max(0, start - _CHUNKS_AROUND) : start])
        yield from reader.read(texts[start : start + AT_ONCE], before)


def orders(looks: Looks) -> dict[str, ChunkValues]:
    """Return what each chunk was looked at; all are equal if no message had anything to look at."""
    return {name: order(looks) if len(looks) else np.zeros(looks.shape[1]) for name, order in LOOKING_ORDERS.items()}


def _prominence(looks: Looks) -> Looks:
    """How far a chunk stands above the other chunks that the message could look at, in standard deviations."""
    mean, spread = np.nanmean(looks, axis=1, keepdims=True), np.nanstd(looks, axis=1, keepdims=True)
    above: Looks = np.maximum((looks - mean) / np.maximum(spread, 1e-9), 0)
    return above


def _ranks(looks: Looks) -> Looks:
    """1 for the chunk that a message looks at most; NaN stays NaN."""
    ranks = np.full(looks.shape, np.nan)
    for row, own in zip(ranks, looks, strict=True):
        known = ~np.isnan(own)
        row[known] = 1 + known.sum() - middle_ranks(own[known])
    return ranks


def _mean(values: Looks) -> ChunkValues:
    known = ~np.isnan(values)
    counts, sums = known.sum(axis=0), np.where(known, values, 0).sum(axis=0)
    average = sums.sum() / max(1, counts.sum())
    return np.asarray((sums + _PRIOR_MESSAGES * average) / (counts + _PRIOR_MESSAGES))


def _from_afar(looks: Looks) -> Looks:
    before = (~np.isnan(looks)).sum(axis=1, keepdims=True)
    return np.where(np.arange(looks.shape[1]) < before - _FAR_CHUNKS, looks, np.nan)


def _lately(looks: Looks) -> ChunkValues:
    age = np.arange(len(looks))[::-1, None]
    return np.asarray(np.nansum(_prominence(looks) * 0.5 ** (age / _HALF_LIFE), axis=0))


LOOKING_ORDERS: Mapping[str, Callable[[Looks], ChunkValues]] = {
    "looked_at_mean": lambda looks: _mean(_prominence(looks)),
    "looked_at_sum": lambda looks: np.asarray(np.nansum(_prominence(looks), axis=0)),
    "looked_at_peak": lambda looks: np.asarray(np.nan_to_num(_prominence(looks)).max(axis=0)),
    "looked_at_rank": lambda looks: _mean(1 / _ranks(looks)),
    "looked_at_from_afar": lambda looks: _mean(_from_afar(_prominence(looks))),
    "looked_at_lately": _lately,
}
