"""Computes the edits that turn one list of placed tokens into another. Pure."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from halo_weave.engine.protocol import Placed
from halo_weave.errors import InputError

_BLOCK = 256


class KeptRun(NamedTuple):
    """`length` tokens that stay: from index `old` in the old list to index `new` in the new list."""

    old: int
    new: int
    length: int


class Difference(NamedTuple):
    """Half-open runs of indices, in order: `removed` in the old list, `inserted` in the new one."""

    kept: list[KeptRun]
    removed: list[tuple[int, int]]
    inserted: list[tuple[int, int]]


def require_order(tokens: Sequence[Placed]) -> None:
    """Raise InputError unless positions are strictly ascending."""
    for earlier, later in pairwise(tokens):
        if later.position <= earlier.position:
            raise InputError(
                f"Position {later.position} comes after position {earlier.position} in the wanted context."
            )


def difference(old: Sequence[Placed], new: Sequence[Placed]) -> Difference:
    """Compare two lists in ascending order of position. A token stays if its position and id are the same."""
    kept: list[KeptRun] = []
    removed: list[tuple[int, int]] = []
    inserted: list[tuple[int, int]] = []
    i = j = common_prefix(old, new)
    if i:
        kept.append(KeptRun(0, 0, i))
    while i < len(old) or j < len(new):
        start_i, start_j = i, j
        while i < len(old) and j < len(new) and old[i] == new[j]:
            i, j = i + 1, j + 1
        if i > start_i:
            kept.append(KeptRun(start_i, start_j, i - start_i))
        start_i = i
        while i < len(old) and (j >= len(new) or old[i].position <= new[j].position) and not _same(old, i, new, j):
            i += 1
        if i > start_i:
            _extend(removed, start_i, i)
        start_j = j
        while j < len(new) and (i >= len(old) or new[j].position < old[i].position):
            j += 1
        if j > start_j:
            _extend(inserted, start_j, j)
    return Difference(kept, removed, inserted)


def common_prefix(old: Sequence[Placed], new: Sequence[Placed]) -> int:
    """Return the number of tokens at the beginning that are the same."""
    end = 0
    limit = min(len(old), len(new))
    while end < limit and old[end : end + _BLOCK] == new[end : end + _BLOCK]:
        end += _BLOCK
    end = min(end, limit)
    while end < limit and old[end] == new[end]:
        end += 1
    return end


def _same(old: Sequence[Placed], i: int, new: Sequence[Placed], j: int) -> bool:
    return j < len(new) and old[i] == new[j]


def _extend(runs: list[tuple[int, int]], start: int, end: int) -> None:
    if runs and runs[-1][1] == start:
        runs[-1] = (runs[-1][0], end)
    else:
        runs.append((start, end))
