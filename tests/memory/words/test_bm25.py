"""The best results by BM25 are the same however they are searched for."""

from unittest.mock import patch

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from halo_weave.memory.words import bm25
from halo_weave.memory.words.index_file import Postings

CHUNKS = 3000


def made_up_postings(rng: np.random.Generator) -> Postings:
    share = rng.choice([0.001, 0.02, 0.1, 0.4, 0.9])
    ids = np.flatnonzero(rng.random(CHUNKS) < share).astype(np.uint32)
    frequencies = np.minimum(rng.geometric(0.6, size=len(ids)), 255).astype(np.uint8)
    if rng.random() < 0.5:
        return Postings(len(ids), frequencies, ids)
    by_id = np.zeros(CHUNKS, dtype=np.uint8)
    by_id[ids] = frequencies
    return Postings(len(ids), by_id, None)


@given(
    seed=st.integers(0, 2**32),
    words=st.integers(0, 8),
    limit=st.sampled_from([1, 5, 50, 5000]),
    few=st.sampled_from([0, 20, 5000]),
    spread=st.sampled_from([1, 3, 200]),
)
def test_the_best_are_always_among_those_that_could_be(
    seed: int, words: int, limit: int, few: int, spread: int
) -> None:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(50, 50 + spread, size=CHUNKS)
    totals = bm25.CorpusTotals(CHUNKS, int(lengths.sum()))
    postings = [made_up_postings(rng) for _ in range(words)]
    weighted = [bm25.Weighted(totals.idf(one.chunks), one) for one in postings]
    without = rng.choice(CHUNKS, 100, replace=False)
    with patch.multiple(bm25, _WORTH_STOPPING_FOR=0, _FEW_CANDIDATES=few):
        ids = bm25.possible_best(weighted, totals.norms_in_single_precision(lengths), without, limit)
    found = bm25.best_first(ids, bm25.exact_scores(weighted, ids, totals.norms(lengths[ids])), limit)

    everywhere = np.arange(CHUNKS)
    scores = bm25.exact_scores(weighted, everywhere, totals.norms(lengths))
    scores[without] = 0
    expected = bm25.best_first(everywhere[scores > 0], scores[scores > 0], limit)
    assert found[0].tolist() == expected[0].tolist()
    assert found[1].tolist() == expected[1].tolist()
