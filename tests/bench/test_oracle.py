"""The most evidence that fits is what the best of all rankings brings back."""

import itertools
from collections.abc import Iterable
from datetime import UTC, datetime

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.test_recall import chunk, hit
from halo_weave.bench import recall
from halo_weave.bench.oracle import most_evidence
from halo_weave.memory.search.search import Hit
from halo_weave.records.chunks import Chunk, ChunkKey
from halo_weave.records.tokens import Token

# Two questions with their answers, so that evidence can hang on anchors with and without evidence.
_PLACES = (
    ChunkKey(1, 0, "user"),
    ChunkKey(1, 1, "user"),
    ChunkKey(2, 0, "assistant"),
    ChunkKey(2, 1, "assistant"),
    ChunkKey(2, 2, "assistant"),
    ChunkKey(3, 0, "user"),
    ChunkKey(4, 0, "assistant"),
    ChunkKey(4, 1, "assistant"),
)


def memory_of(sizes: list[int]) -> list[Chunk]:
    time = datetime(2026, 1, 1, tzinfo=UTC)
    return [
        Chunk.of_tokens(key, [Token(0, "x ")] * size, first_position=100 * place, time=time)
        for place, (key, size) in enumerate(zip(_PLACES, sizes, strict=True))
    ]


def ranked(chunks: Iterable[Chunk]) -> list[Hit]:
    return [msgspec.structs.replace(hit(one), score=-float(rank)) for rank, one in enumerate(chunks)]


@given(
    sizes=st.lists(st.integers(1, 9), min_size=len(_PLACES), max_size=len(_PLACES)),
    wanted=st.sets(st.sampled_from(range(len(_PLACES))), min_size=1, max_size=4),
    budget=st.integers(0, 40),
)
def test_no_ranking_brings_more_evidence_and_the_best_brings_as_much(
    sizes: list[int], wanted: set[int], budget: int
) -> None:
    chunks = memory_of(sizes)
    stream = recall.ConversationStream()
    stream.hold(chunks)
    evidence = {chunks[place].key for place in wanted}
    rankings = itertools.permutations([chunks[place] for place in wanted])
    reached = [
        stream.tokens_of(evidence & recall.fill_context(ranked(ranking), stream, budget)) for ranking in rankings
    ]
    assert most_evidence(evidence, stream.dormant, [budget]) == [max(reached)]


def test_all_evidence_fits_a_context_as_large_as_its_groups() -> None:
    stream = recall.ConversationStream()
    stream.hold([chunk(1, 0, "user", 400), chunk(2, 0, "assistant", 300), chunk(2, 1, "assistant", 324)])
    assert recall.oracle({2}, stream) == {
        # The answer's opening needs its question's, which is no evidence: 700 tokens.
        "oracle_at_512": 0,
        "oracle_at_1024": 100,
        "oracle_at_2048": 100,
    }


def test_evidence_that_is_larger_than_the_budget_counts_as_far_as_it_fits() -> None:
    stream = recall.ConversationStream()
    stream.hold([chunk(1, 0, "user", 100), chunk(1, 1, "user", 450), chunk(1, 2, "user", 350)])
    assert recall.oracle({1}, stream)["oracle_at_512"] == pytest.approx(50)
