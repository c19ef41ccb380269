"""The most evidence that fits into a context: what a perfect ranking would bring back under the same filling rule.

A chunk returns with its anchors (`group_keys`), which may hold no evidence themselves and still take room. So the
chunks of a question form trees, a chunk hanging on its anchors, and the best choice is a knapsack over these trees.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from halo_weave.records.chunks import ChunkKey
from halo_weave.weave.resurrection import Dormant, group_keys

Best = NDArray[np.int64]
"""The most evidence tokens in a context of at most 0, 1, 2 … tokens; negative if something required does not fit."""
_DOES_NOT_FIT = -(2**62)


def most_evidence(
    evidence: Collection[ChunkKey], dormant: Mapping[ChunkKey, Dormant], budgets: Iterable[int]
) -> list[int]:
    """Return how many tokens of evidence fit into an empty context of each of these sizes."""
    budgets = list(budgets)
    branches = _branches(evidence, dormant)
    best: Best = np.zeros(max(budgets) + 1, dtype=np.int64)
    for root in branches[None]:
        best = _with_branch(best, root, branches, evidence, dormant)
    return [int(best[budget]) for budget in budgets]


def _branches(
    evidence: Iterable[ChunkKey], dormant: Mapping[ChunkKey, Dormant]
) -> dict[ChunkKey | None, list[ChunkKey]]:
    """Return what hangs on each chunk; None stands for what hangs on nothing."""
    branches: dict[ChunkKey | None, dict[ChunkKey, None]] = defaultdict(dict)
    for key in evidence:
        own, *anchors = group_keys(key)
        above: ChunkKey | None = None
        for one in (*anchors, own):
            if one in dormant:
                branches[above][one] = None
                above = one
    return defaultdict(list, {above: list(below) for above, below in branches.items()})


def _with_branch(
    best: Best,
    root: ChunkKey,
    branches: Mapping[ChunkKey | None, list[ChunkKey]],
    evidence: Collection[ChunkKey],
    dormant: Mapping[ChunkKey, Dormant],
) -> Best:
    """Return the best with or without this chunk and, if it is taken, with or without each chunk that hangs on it."""
    tokens = dormant[root].tokens
    taken = np.full_like(best, _DOES_NOT_FIT)
    taken[tokens:] = best[: max(0, len(best) - tokens)] + (tokens if root in evidence else 0)
    for branch in branches.get(root, ()):
        taken = _with_branch(taken, branch, branches, evidence, dormant)
    return np.maximum(best, taken)
