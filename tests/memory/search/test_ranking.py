"""Ranking by chunks and their neighbourhood, the choice of query words, and varied results."""

import math
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_weave.memory.search.ranking import NEAR, WIDE, Neighbourhood, Ranked, RankingCandidate, around, diverse, fused
from halo_weave.records.roles import Role
from halo_weave.text.languages.words import terms_of

roles: st.SearchStrategy[Role] = st.sampled_from(["system", "user", "assistant"])
shares = st.sampled_from([0.01, 0.3, 1.0])
similarities = st.sampled_from([0.1, 0.2, 0.3, 0.5, math.nan])


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[RankingCandidate], Neighbourhood]:
    known = np.array(sorted(draw(st.sets(st.integers(1, 60), max_size=30))), dtype=np.int64)
    terms = draw(st.integers(0, 3))
    chosen = draw(st.sets(st.sampled_from(known.tolist()), max_size=12)) if len(known) else set()
    frequencies = draw(st.lists(st.integers(0, 3), min_size=terms * len(known), max_size=terms * len(known)))
    surroundings = Neighbourhood(
        known,
        np.array(frequencies, dtype=np.float64).reshape(terms, len(known)),
        np.array(draw(st.lists(shares, min_size=terms, max_size=terms))),
        np.array(draw(st.lists(shares, min_size=terms, max_size=terms))),
        np.array(draw(st.lists(similarities, min_size=len(known), max_size=len(known)))),
    )
    candidates = [
        RankingCandidate(one, 10 * one, draw(roles), draw(st.integers(1, 9)), None, None) for one in sorted(chosen)
    ]
    return candidates, surroundings


def candidate(chunk_id: int, *, role: Role = "assistant", turn_chunks: int = 1) -> RankingCandidate:
    return RankingCandidate(chunk_id, 10 * chunk_id, role, turn_chunks, None, None)


def surroundings(words: dict[int, list[int]], closeness: dict[int, float], *others: int) -> Neighbourhood:
    """Gives each chunk's word counts and closeness; all words are equally rare."""
    ids = sorted({*words, *closeness, *others})
    terms = max((len(numbers) for numbers in words.values()), default=0)
    return Neighbourhood(
        np.array(ids, dtype=np.int64),
        np.array([words.get(one, [0] * terms) for one in ids], dtype=np.float64).reshape(len(ids), terms).T,
        np.full(terms, 0.1),
        np.full(terms, 0.2),
        np.array([closeness.get(one, math.nan) for one in ids]),
    )


def order(ranked: list[Ranked]) -> list[int]:
    return [one.candidate.id for one in ranked]


def found(*ids: int, words: dict[int, list[int]], closeness: dict[int, float] | None = None) -> list[int]:
    return order(fused([candidate(one) for one in ids], surroundings(words, closeness or {}, *ids), user_boost=1.0))


def test_words_and_meaning_together_beat_either() -> None:
    assert found(1, 101, 201, words={1: [1], 101: [1]}, closeness={1: 0.8, 101: 0.1, 201: 0.8})[0] == 1


def test_words_that_stand_beside_a_chunk_lift_it() -> None:
    assert found(1, 101, 201, words={1: [1, 0], 101: [1, 0], 102: [0, 1], 201: [0, 0]}) == [101, 1, 201]


def test_a_chunk_with_the_words_itself_beats_its_neighbours() -> None:
    assert found(49, 50, 51, words={50: [1, 1]})[0] == 50


def test_words_farther_away_count_less_and_not_at_all_beyond_the_widest_scale() -> None:
    near, far, beyond = 100, 200, 300
    words = {near + 1: [1], far + NEAR.reach + 1: [1], beyond + WIDE.reach + 1: [1], 400: [0]}
    assert found(near, far, beyond, 400, words=words) == [near, far, beyond, 400]
    candidates = [candidate(one) for one in (near, far, beyond, 400)]
    ranked = fused(candidates, surroundings(words, {}, near, far, beyond), user_boost=1.0)
    assert ranked[2].score == ranked[3].score == 0


def test_a_rarer_word_says_more() -> None:
    known = surroundings({1: [1, 0], 101: [0, 1]}, {})._replace(shares=np.array([0.5, 0.01]))
    assert order(fused([candidate(1), candidate(101)], known, user_boost=1.0)) == [101, 1]


def test_a_word_that_stands_in_one_part_of_the_memory_says_more_of_that_part() -> None:
    known = surroundings({10: [1, 0], 110: [0, 1]}, {}, 1, 101)._replace(part_shares=np.array([0.5, 0.01]))
    assert order(fused([candidate(1), candidate(101)], known, user_boost=1.0)) == [101, 1]


def test_a_chunk_among_close_ones_is_ahead_of_one_among_others() -> None:
    closeness = {1: 0.5, 2: 0.1, 101: 0.5, 102: 0.5, 201: 0.0}
    assert found(1, 101, 201, words={}, closeness=closeness) == [101, 1, 201]


def test_one_of_many_chunks_of_a_turn_stands_behind_a_turn_of_its_own() -> None:
    known = surroundings({1: [1], 101: [1], 201: [0]}, {})
    candidates = [candidate(1, turn_chunks=4), candidate(101), candidate(201)]
    assert order(fused(candidates, known, user_boost=1.0))[0] == 101


def test_ties_stand_in_order_of_position() -> None:
    assert found(70, 30, 50, words={}) == [30, 50, 70]


def test_equals_share_the_last_of_their_ranks() -> None:
    candidates = [RankingCandidate(one, one, "user", 1, 0.9, score) for one, score in ((1, 1.0), (2, 1.0), (3, 5.0))]
    ranked = fused(candidates, surroundings({}, {}, 1, 2, 3), user_boost=1.0)
    assert {one.candidate.id: one.word_rank for one in ranked} == {1: 3, 2: 3, 3: 1}


def test_a_users_words_are_ahead_by_the_logarithm_of_the_factor() -> None:
    candidates = [candidate(1), candidate(101, role="user")]
    known = surroundings({}, {}, 1, 101)
    assert [one.score for one in fused(candidates, known, user_boost=1.0)] == [0, 0]
    first, last = fused(candidates, known, user_boost=1.5)
    assert (first.candidate.id, last.score) == (101, 0)
    assert first.score == pytest.approx(math.log(1.5))


def test_a_close_wish_is_ahead_by_the_logarithm_of_the_factor() -> None:
    candidates = [candidate(1), candidate(101)._replace(is_wish=True)]
    known = surroundings({}, {}, 1, 101)
    assert [one.score for one in fused(candidates, known, user_boost=1.0)] == [0, 0]
    first, last = fused(candidates, known, user_boost=1.0, wish_boost=4.5)
    assert (first.candidate.id, last.score) == (101, 0)
    assert first.score == pytest.approx(math.log(4.5))


@given(cases(), st.randoms())
def test_the_order_does_not_depend_on_how_candidates_come(
    case: tuple[list[RankingCandidate], Neighbourhood], random: Random
) -> None:
    candidates, known = case
    ranked = fused(candidates, known, user_boost=1.5)
    shuffled = list(candidates)
    random.shuffle(shuffled)
    assert fused(shuffled, known, user_boost=1.5) == ranked
    assert sorted(order(ranked)) == [one.id for one in candidates]
    scores = [one.score for one in ranked]
    assert scores == sorted(scores, reverse=True)
    assert not scores or (scores[-1] == 0 and all(map(math.isfinite, scores)))


@given(cases())
def test_a_boost_never_lowers_a_users_words(case: tuple[list[RankingCandidate], Neighbourhood]) -> None:
    plain, boosted = (order(fused(*case, user_boost=factor)) for factor in (1.0, 3.0))
    for one in case[0]:
        if one.role == "user":
            assert boosted.index(one.id) <= plain.index(one.id)


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=20, unique=True))
def test_all_that_a_scale_looks_at_is_asked_for_once(ids: list[int]) -> None:
    expected = {one + step for one in ids for step in range(-NEAR.reach, NEAR.reach + 1)}
    assert around(np.array(ids), NEAR).tolist() == sorted(expected)


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
        ("e\u0301te\u0301 Été", ["ete"]),
        ("東京へ snake_case", ["東京", "京へ", "東", "京", "snake", "case"]),
    ],
)
def test_terms_are_words_of_any_script_each_once(text: str, terms: list[str]) -> None:
    assert terms_of(text) == terms


def test_whom_the_question_names_comes_first_among_equals() -> None:
    candidates = [candidate(1), candidate(2)._replace(is_named=True), candidate(3)]
    assert order(fused(candidates, surroundings({}, {}, 1, 2, 3), user_boost=1.0)) == [2, 1, 3]


def test_the_nearer_to_a_named_time_the_better_and_time_says_more_than_the_speaker() -> None:
    near = [candidate(1), candidate(2)._replace(nearness=0.4), candidate(3)._replace(nearness=1.0)]
    speaks = candidate(4)._replace(is_named=True)
    ranked = fused([*near, speaks], surroundings({}, {}, 1, 2, 3, 4), user_boost=1.0)
    assert [order(ranked)[0], order(ranked)[-1]] == [3, 1]
