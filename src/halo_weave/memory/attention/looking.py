"""How strongly a question looks at chunks, and at which of their words, as pure functions.

Each word of the question counts with the token that it looks at most; the sum over its words, weighted by the strength
of their queries, is the chunk's attention. A chunk therefore scores by how many of the question's words find something
in it, not by its length, and its score does not depend on what else is in the memory.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from halo_weave.engine.reader.protocol import Look
from halo_weave.engine.reader.similarity import largest_in_passages
from halo_weave.records.chunks import Span

Attention = NDArray[np.float64]

_SHARE_OF_BEST = 0.5
"""A word is looked at if it gets at least this share of what the most looked-at word gets."""
_MOST_SPANS = 6


def attention(look: Look, keys: Mapping[int, NDArray[np.int8]], ids: Sequence[int]) -> Attention:
    """Return the attention that each chunk gets; NaN for chunks without keys."""
    found: Attention = np.full(len(ids), np.nan)
    known = [place for place, chunk_id in enumerate(ids) if chunk_id in keys and len(keys[chunk_id])]
    if not known or not len(look.words):
        return found
    parts = [keys[ids[place]] for place in known]
    starts = np.cumsum([0, *(len(part) for part in parts[:-1])])
    found[known] = look.weights @ largest_in_passages(look.queries, np.concatenate(parts).astype(np.float32), starts)
    return found


def shares(look: Look, keys: Mapping[int, NDArray[np.int8]]) -> dict[int, NDArray[np.float32]]:
    """Return how the question's attention is divided among all tokens of these chunks; together they add up to 1."""
    known = {chunk_id: own for chunk_id, own in keys.items() if len(own)}
    if not known or not len(look.words):
        return {}
    scores = look.queries @ np.concatenate(list(known.values())).astype(np.float32).T
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    divided = look.weights @ (powers / powers.sum(axis=1, keepdims=True))
    ends = np.cumsum([len(own) for own in known.values()])
    return dict(zip(known, np.split(divided.astype(np.float32), ends[:-1]), strict=True))


def looked_at(look: Look, keys: NDArray[np.int8], pieces: Sequence[str]) -> list[Span]:
    """Return the words of a text that the question looks at most, in order. `pieces` are the texts of its tokens."""
    if not len(look.words) or len(pieces) != len(keys) or not len(keys):
        return []
    shares = look.queries @ keys.astype(np.float32).T
    # What stands out among the text's own tokens, so that tokens that every word looks at do not count.
    outstanding = look.weights @ np.maximum(shares - shares.mean(axis=1, keepdims=True) - shares.std(), 0)
    words = _words(pieces)
    strengths = np.array([outstanding[first:last].max() for first, last, _ in words]) if words else np.empty(0)
    if not len(strengths) or strengths.max() <= 0:
        return []
    best = np.argsort(-strengths, kind="stable")[:_MOST_SPANS]
    chosen = sorted(place for place in best.tolist() if strengths[place] >= _SHARE_OF_BEST * strengths.max())
    return [words[place][2] for place in chosen]


def _words(pieces: Sequence[str]) -> list[tuple[int, int, Span]]:
    """Join tokens to words: first and last token, and the characters without white space around them."""
    words: list[tuple[int, int, Span]] = []
    at = 0
    for place, piece in enumerate(pieces):
        bare = piece.strip()
        start = at + len(piece) - len(piece.lstrip())
        at += len(piece)
        if not any(map(str.isalnum, bare)):
            continue
        span = (start, start + len(bare))
        if words and words[-1][1] == place and words[-1][2][1] == start:
            first, _, before = words.pop()
            words.append((first, place + 1, (before[0], span[1])))
        else:
            words.append((place, place + 1, span))
    return words
