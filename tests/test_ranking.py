"""Rankings become one order; words that are worth looking for; answers that differ from each other."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_weave.memory.query_terms import terms_of
from halo_weave.memory.ranking import Candidate, diverse, fused
from halo_weave.memory.records import Role

values = st.none() | st.sampled_from([0.1, 0.2, 0.3, 0.5])
roles: st.SearchStrategy[Role] = st.sampled_from(["system", "user", "assistant"])


@st.composite
def candidate_lists(draw: st.DrawFn) -> list[Candidate]:
    count = draw(st.integers(0, 12))
    positions = draw(st.lists(st.integers(0, 2**70), min_size=count, max_size=count, unique=True))
    return [
        Candidate(place, positions[place], draw(roles), draw(values), draw(values))
        for place in draw(st.permutations(range(count)))
    ]


def candidate(
    chunk_id: int, similarity: float | None, word_score: float | None, *, role: Role = "assistant"
) -> Candidate:
    return Candidate(chunk_id, 10 * chunk_id, role, similarity, word_score)


def order(*candidates: Candidate, user_boost: float = 1.0) -> list[int]:
    return [one.candidate.id for one in fused(candidates, k=60, user_boost=user_boost)]


def test_found_twice_beats_found_once() -> None:
    assert order(candidate(1, 0.9, None), candidate(2, 0.8, 3.0), candidate(3, None, 9.0)) == [2, 1, 3]


def test_the_score_is_the_sum_of_reciprocal_ranks() -> None:
    first, second = fused([candidate(1, 0.9, 2.0), candidate(100, 0.1, 7.0)], k=10, user_boost=1.0)
    assert (first.candidate.id, first.vector_rank, first.word_rank, first.around_rank) == (1, 1, 2, 2)
    assert first.score == second.score == 1 / 11 + 1 / 12


def test_words_in_the_neighbourhood_count_half_a_step_away() -> None:
    alone, beside, far = candidate(1, None, 4.0), candidate(101, None, 3.0), candidate(109, None, 3.9)
    ranked = fused([alone, beside, candidate(102, None, 3.5), far], k=10, user_boost=1.0)
    assert {one.candidate.id: one.around_rank for one in ranked} == {1: 3, 101: 2, 102: 1, 109: 4}
    assert {one.candidate.id: one.word_rank for one in ranked} == {1: 1, 101: 4, 102: 3, 109: 2}


def test_a_chunk_with_the_words_themselves_beats_its_neighbour_that_means_the_same() -> None:
    ranked = fused([candidate(5, 0.5, 9.0), candidate(6, 0.6, None), candidate(7, 0.1, None)], k=10, user_boost=1.0)
    assert ranked[0].candidate.id == 5


def test_ties_stand_in_order_of_position() -> None:
    assert order(candidate(7, 0.5, None), candidate(3, 0.5, None), candidate(5, 0.5, None)) == [3, 5, 7]


def test_equals_share_the_last_of_their_ranks() -> None:
    ranked = fused([candidate(1, 0.9, 1.0), candidate(2, 0.8, 1.0), candidate(3, 0.7, 5.0)], k=60, user_boost=1.0)
    assert {one.candidate.id: one.word_rank for one in ranked} == {1: 3, 2: 3, 3: 1}


def test_a_users_words_are_boosted_by_the_factor() -> None:
    said = candidate(2, 0.8, None, role="user")
    (alone,) = fused([said], k=60, user_boost=1.0)
    (boosted,) = fused([said], k=60, user_boost=1.5)
    assert boosted.score == 1.5 * alone.score
    assert order(candidate(1, 0.9, None), said, user_boost=1.0) == [1, 2]
    assert order(candidate(1, 0.9, None), said, user_boost=1.5) == [2, 1]


@given(candidate_lists(), st.randoms())
def test_the_order_does_not_depend_on_how_candidates_come(candidates: list[Candidate], random: Random) -> None:
    ranked = fused(candidates, k=60, user_boost=1.5)
    shuffled = list(candidates)
    random.shuffle(shuffled)
    assert fused(shuffled, k=60, user_boost=1.5) == ranked
    assert sorted(one.candidate.id for one in ranked) == sorted(one.id for one in candidates)
    assert [one.score for one in ranked] == sorted((one.score for one in ranked), reverse=True)


@given(candidate_lists())
def test_a_better_rank_never_lowers_a_chunk(candidates: list[Candidate]) -> None:
    ranked = fused(candidates, k=60, user_boost=1.0)
    for better in ranked:
        for worse in ranked:
            if all(map(_outranks, better[2:], worse[2:])):
                assert better.score >= worse.score


def _outranks(first: int | None, second: int | None) -> bool:
    return second is None or (first is not None and first <= second)


def test_diversity_skips_a_second_of_the_same() -> None:
    scores = np.array([1.0, 0.99, 0.5])
    alike = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1]], dtype=np.float32)
    assert diverse(scores, alike, 1.0, 3) == [0, 1, 2]
    assert diverse(scores, alike, 0.5, 3) == [0, 2, 1]
    assert diverse(scores, alike, 0.5, 1) == [0]


@given(st.lists(st.floats(0.01, 1), min_size=0, max_size=8), st.floats(0, 1), st.integers(1, 10))
def test_diversity_chooses_each_once(scores: list[float], share: float, limit: int) -> None:
    ordered = np.array(sorted(scores, reverse=True))
    alike = np.cos(np.subtract.outer(ordered, ordered)).astype(np.float32)
    chosen = diverse(ordered, alike, share, limit)
    assert len(chosen) == len(set(chosen)) == min(limit, len(scores))


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Where did Anna's cat, the CAT, go?", ["where", "did", "anna", "s", "cat", "the", "go"]),
        ("  …!? 🎉 ", []),
        ("Straße STRASSE 3,14", ["strasse", "3", "14"]),
        ("हिन्दी में", ["हिन्दी", "में"]),
        ("e\u0301te\u0301", ["e\u0301te\u0301"]),
        ("東京へ snake_case", ["東京へ", "snake", "case"]),
    ],
)
def test_terms_are_words_of_any_script_each_once(text: str, terms: list[str]) -> None:
    assert terms_of(text) == terms
