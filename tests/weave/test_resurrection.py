"""What returns to a context: order, anchors, brightness and reasons; and what does not fit."""

from collections.abc import Iterable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_weave.errors import InputError
from halo_weave.records.chunks import ChunkKey
from halo_weave.records.roles import Role
from halo_weave.weave import pruning, resurrection
from halo_weave.weave.living import LivingChunk, tokens_in_all
from halo_weave.weave.resurrection import (
    Candidate,
    Dormant,
    ResurrectionPlan,
    Skipped,
    StartingBrightness,
    group_keys,
)
from halo_weave.weave.settings import ResurrectionBrightness, WeaveSettings

ROLES: tuple[Role, ...] = ("user", "assistant", "system")
LARGEST = StartingBrightness("largest", mean=0)


def user(turn: int, index: int = 0) -> ChunkKey:
    return ChunkKey(turn, index, "user")


def assistant(turn: int, index: int = 0) -> ChunkKey:
    return ChunkKey(turn, index, "assistant")


def memory(*keys: ChunkKey, tokens: int = 10, frame: int = 0) -> dict[ChunkKey, Dormant]:
    return {key: Dormant(key, 1000 * key.turn + key.index, tokens, frame) for key in keys}


def found(*keys: ChunkKey) -> list[Candidate]:
    """Return candidates for these keys, best first."""
    return [Candidate(key, 1 / place) for place, key in enumerate(keys, start=1)]


def planned(
    candidates: list[Candidate],
    dormant: dict[ChunkKey, Dormant],
    *,
    living: Iterable[ChunkKey] = (),
    budget: int = 1000,
    starting: StartingBrightness = LARGEST,
) -> ResurrectionPlan:
    return resurrection.plan(candidates, set(living), dormant, budget=budget, starting=starting)


def keys_of(plan: ResurrectionPlan) -> list[ChunkKey]:
    return [revival.key for revival in plan.revivals]


@pytest.mark.parametrize(
    ("key", "anchors"),
    [
        (assistant(30, 5), (user(29), assistant(30))),
        (assistant(30), (user(29),)),
        (user(29, 2), (user(29),)),
        (user(29), ()),
        (ChunkKey(7, 3, "system"), ()),
        (assistant(0, 1), (assistant(0),)),
        (assistant(0), ()),
    ],
)
def test_a_group_is_the_chunk_its_turns_opening_and_an_answers_question(
    key: ChunkKey, anchors: tuple[ChunkKey, ...]
) -> None:
    assert group_keys(key) == (key, *anchors)


def test_an_answers_chunk_brings_the_question_and_the_answers_opening() -> None:
    plan = planned(found(assistant(30, 5)), memory(assistant(30, 5), assistant(30), user(29), user(29, 1)))
    assert keys_of(plan) == [assistant(30, 5), user(29), assistant(30)]
    assert plan.tokens == 30


def test_an_anchor_that_is_the_target_is_not_counted_twice() -> None:
    assert planned(found(assistant(30)), memory(assistant(30), user(29))).tokens == 20


def test_what_lives_costs_nothing_and_does_not_return() -> None:
    dormant = memory(assistant(30, 5), assistant(30))
    plan = planned(found(assistant(30, 5)), dormant, living=[user(29)], budget=20)
    assert keys_of(plan) == [assistant(30, 5), assistant(30)]
    assert plan.revivals[0].paired_with == (user(29), assistant(30))


def test_a_living_target_brings_the_anchors_that_it_lacks() -> None:
    plan = planned(found(assistant(30, 5)), memory(user(29)), living=[assistant(30, 5), assistant(30)])
    assert keys_of(plan) == [user(29)]


def test_two_targets_of_an_exchange_share_their_anchors() -> None:
    dormant = memory(assistant(30, 5), assistant(30, 6), assistant(30), user(29))
    plan = planned(found(assistant(30, 5), assistant(30, 6)), dormant, budget=40)
    assert keys_of(plan) == [assistant(30, 5), user(29), assistant(30), assistant(30, 6)]
    assert plan.tokens == 40


def test_a_group_that_does_not_fit_is_skipped_and_the_next_is_tried() -> None:
    dormant = memory(assistant(30, 5), assistant(30), user(29), user(11))
    plan = planned(found(assistant(30, 5), user(11)), dormant, budget=29)
    assert keys_of(plan) == [user(11)]
    assert plan.skipped == (Skipped(assistant(30, 5), needed=30, left=29),)
    assert (
        str(plan.skipped[0])
        == "30:5 (assistant) did not fit: it needs 30 tokens with the openings it depends on, and 29 were left."
    )


def test_only_the_first_skipped_groups_are_listed_and_all_are_counted() -> None:
    keys = [user(turn) for turn in range(1, 20, 2)]
    plan = planned(found(*keys), memory(*keys), budget=9)
    assert [one.key for one in plan.skipped] == keys[: resurrection.SHOWN_SKIPPED]
    assert plan.skipped_groups == 10


def test_a_living_chunk_whose_anchors_do_not_fit_is_not_told_as_skipped() -> None:
    assert planned(found(user(5, 1)), memory(user(5)), living=[user(5, 1)], budget=9) == ResurrectionPlan((), 0)


def test_a_missing_anchor_is_left_out_of_its_group() -> None:
    plan = planned(found(assistant(30, 5)), memory(assistant(30, 5), assistant(30)))
    assert keys_of(plan) == [assistant(30, 5), assistant(30)]
    assert plan.revivals[0].paired_with == (assistant(30),)


def test_a_candidate_that_is_nowhere_is_passed_over_with_its_group() -> None:
    assert planned(found(assistant(30, 5)), memory(assistant(30), user(29))) == ResurrectionPlan((), 0)


def test_a_turns_frame_is_paid_once_and_only_if_nothing_of_the_turn_lives() -> None:
    dormant = memory(assistant(30, 5), assistant(30, 6), assistant(30), user(29), frame=3)
    assert planned(found(assistant(30, 5)), dormant).tokens == 30 + 2 * 3
    assert planned(found(assistant(30, 5), assistant(30, 6)), dormant).tokens == 40 + 2 * 3
    assert planned(found(assistant(30, 5)), dormant, living=[user(29, 1)]).tokens == 30 + 3
    assert planned(found(assistant(30, 5)), dormant, budget=35).skipped == (Skipped(assistant(30, 5), 36, 35),)


def test_of_equal_scores_the_brighter_at_burial_returns_first_then_the_more_recent() -> None:
    dormant = memory(user(1), user(3), user(5), user(7))
    dormant[user(3)] = dormant[user(3)]._replace(earned=40)
    dormant[user(1)] = dormant[user(1)]._replace(earned=-2)
    dormant[user(5)] = dormant[user(5)]._replace(first_position=2**70)
    equals = [Candidate(user(turn), 0.5) for turn in (1, 7, 3, 5)]
    assert keys_of(planned(equals, dormant)) == [user(3), user(5), user(7), user(1)]


def test_of_living_chunks_with_equal_scores_the_later_turn_brings_its_anchors_first() -> None:
    living = [user(1, 1), user(3, 1)]
    for order in (living, living[::-1]):
        equals = [Candidate(key, 0.5) for key in order]
        assert keys_of(planned(equals, memory(user(1), user(3)), living=living)) == [user(3), user(1)]


def test_the_order_of_the_search_stands_even_against_the_scores() -> None:
    diverse = [Candidate(user(1), 0.9), Candidate(user(3), 0.2), Candidate(user(5), 0.8)]
    assert keys_of(planned(diverse, memory(user(1), user(3), user(5)))) == [user(1), user(3), user(5)]


def test_reasons_say_how_a_chunk_was_found_and_whose_anchor_it_is() -> None:
    one = Candidate(assistant(6, 2), 0.1525, similarity=0.714, vector_rank=2, word_rank=5)
    target, question, opening = planned([one], memory(assistant(6, 2), assistant(6), user(5))).revivals
    assert (target.code, target.reason) == (
        "found",
        "Found by meaning (rank 2, similarity 0.71) and words (rank 5); score 0.152.",
    )
    assert (question.code, question.reason) == ("anchor", "Opening of the question that 6:2 (assistant) answers.")
    assert opening.reason == "Opening of the turn of 6:2 (assistant)."
    assert question.paired_with == opening.paired_with == (assistant(6, 2),)
    assert {revival.found for revival in (target, question, opening)} == {one}
    assert not target.is_pinned


@pytest.mark.parametrize(
    ("candidate", "reason"),
    [
        (Candidate(user(1), 0.5, similarity=0.3, word_rank=1), "Found by words (rank 1); score 0.5."),
        (Candidate(user(1), 0.5, vector_rank=3), "Found by meaning (rank 3); score 0.5."),
        (Candidate(user(1), 0.5), "Found by the search; score 0.5."),
        (Candidate(user(1), 0.5, is_wish=True), "Found by being a wish related to the message; score 0.5."),
    ],
)
def test_reasons_name_only_what_found_it(candidate: Candidate, reason: str) -> None:
    plan = planned([candidate], memory(user(1), assistant(2)))
    assert [revival.reason for revival in plan.revivals] == [reason]


@pytest.mark.parametrize(
    ("choice", "mean", "earned", "brightness"),
    [
        ("largest", 100, None, 255),
        ("largest", 300, None, 300),
        ("largest", 300, 4000, 4000),
        ("largest", -50, -70, 255),
        ("earned", 300, 12, 12),
        ("earned", 300, 0, 0),
        ("earned", 300, None, 300),
        ("mean", 30, 4000, 30),
        ("fixed", 30, 4000, 255),
    ],
)
def test_the_starting_brightness_follows_the_setting(
    choice: ResurrectionBrightness, mean: float, earned: float | None, brightness: float
) -> None:
    dormant = {user(1): Dormant(user(1), 0, 10, 0, earned)}
    plan = planned(found(user(1)), dormant, starting=StartingBrightness(choice, mean))
    assert [revival.brightness for revival in plan.revivals] == [brightness]


def test_what_is_asked_for_by_hand_returns_at_full_brightness_and_pinned_and_its_anchors_as_if_found() -> None:
    dormant = memory(assistant(6, 2), assistant(6), user(5), tokens=100, frame=2)
    plan = resurrection.manual(assistant(6, 2), {assistant(6)}, dormant, starting=LARGEST)
    target, question = plan.revivals
    assert (target.key, target.brightness, target.is_pinned, target.code) == (assistant(6, 2), 10_000, True, "manual")
    assert (question.key, question.brightness, question.is_pinned, question.code) == (user(5), 255, False, "anchor")
    assert plan.tokens == 202


def test_by_hand_only_what_is_buried_can_return() -> None:
    with pytest.raises(InputError, match="5:0 \\(user\\) is already in context"):
        resurrection.manual(user(5), {user(5)}, {}, starting=LARGEST)
    with pytest.raises(InputError, match="5:0 \\(user\\) cannot be brought back"):
        resurrection.manual(user(5), set(), {}, starting=LARGEST)


@pytest.mark.parametrize(
    ("settings", "budget"),
    [
        (WeaveSettings(), 2048),
        (WeaveSettings(budget_tokens=1500), 1500),
        (WeaveSettings(budget_tokens=9000), 4096),
        (WeaveSettings(budget_tokens=4096), 4096),
    ],
)
def test_the_budget_is_as_set_within_the_context_or_half_of_it(settings: WeaveSettings, budget: int) -> None:
    assert settings.budget(4096) == budget


all_keys = st.builds(ChunkKey, st.integers(0, 5), st.integers(0, 3), st.sampled_from(ROLES))


@st.composite
def memories(draw: st.DrawFn) -> tuple[list[Candidate], dict[ChunkKey, Dormant], set[ChunkKey]]:
    """Draw search hits, dormant chunks and living chunks, with holes everywhere."""
    keys = draw(st.lists(all_keys, min_size=1, max_size=30, unique=True))
    positions = draw(st.permutations(range(len(keys))))
    living = draw(st.sets(st.sampled_from(keys), max_size=8))
    dormant = {
        key: Dormant(
            key,
            position,
            tokens=draw(st.integers(1, 9)),
            frame=(key.turn + len(key.role)) % 4,
            earned=draw(st.none() | st.sampled_from([-5.0, 0.0, 700.0])),
        )
        for key, position in zip(keys, positions, strict=True)
        if key not in living
    }
    hits = draw(st.lists(st.sampled_from(keys) | all_keys, max_size=15, unique=True))
    scores = draw(st.lists(st.sampled_from([0.1, 0.2, 0.3]), min_size=len(hits), max_size=len(hits)))
    candidates = [Candidate(key, score) for key, score in zip(hits, sorted(scores, reverse=True), strict=True)]
    return candidates, dormant, living


Memory = tuple[list[Candidate], dict[ChunkKey, Dormant], set[ChunkKey]]
budgets = st.integers(0, 80)


def alive(chunk: Dormant, peak: float = 0) -> LivingChunk:
    return LivingChunk(chunk.key, chunk.first_position, chunk.tokens, chunk.frame, peak)


@given(memories(), budgets)
def test_the_plan_never_exceeds_its_budget_and_counts_what_it_takes(memory: Memory, budget: int) -> None:
    candidates, dormant, living = memory
    plan = planned(candidates, dormant, living=living, budget=budget)
    before = [LivingChunk(key, 0, 1, (key.turn + len(key.role)) % 4, 0) for key in living]
    after = [*before, *(alive(dormant[key]) for key in keys_of(plan))]
    assert plan.tokens == tokens_in_all(after) - tokens_in_all(before) <= budget


@given(memories(), budgets)
def test_nothing_returns_twice_or_while_it_lives_or_from_nowhere(memory: Memory, budget: int) -> None:
    candidates, dormant, living = memory
    keys = keys_of(planned(candidates, dormant, living=living, budget=budget))
    assert len(keys) == len(set(keys))
    assert living.isdisjoint(keys)
    assert dormant.keys() >= set(keys)


@given(memories(), budgets)
def test_whatever_returns_has_its_anchors_around_it(memory: Memory, budget: int) -> None:
    candidates, dormant, living = memory
    keys = keys_of(planned(candidates, dormant, living=living, budget=budget))
    for key in keys:
        assert {anchor for anchor in group_keys(key) if anchor in dormant} <= set(keys)


@given(memories(), budgets)
def test_each_that_was_found_returns_or_is_skipped_for_want_of_room(memory: Memory, budget: int) -> None:
    candidates, dormant, living = memory
    plan = planned(candidates, dormant, living=living, budget=budget)
    there = living | set(keys_of(plan))
    out = [one.key for one in candidates if one.key in dormant and one.key not in there]
    assert plan.skipped_groups == len(out)
    assert {one.key for one in plan.skipped} <= set(out)
    assert all(one.needed > one.left >= 0 for one in plan.skipped)


@given(memories())
def test_with_room_enough_all_that_was_found_returns(memory: Memory) -> None:
    candidates, dormant, living = memory
    plan = planned(candidates, dormant, living=living, budget=10_000)
    assert {one.key for one in candidates} & dormant.keys() <= set(keys_of(plan))
    assert plan.skipped_groups == 0


@given(memories(), budgets, st.randoms())
def test_the_order_among_equal_scores_does_not_matter(memory: Memory, budget: int, random: Random) -> None:
    candidates, dormant, living = memory
    shuffled = list(candidates)
    random.shuffle(shuffled)
    shuffled.sort(key=lambda one: -one.score)
    plan = planned(candidates, dormant, living=living, budget=budget)
    again = planned(shuffled, dormant, living=living, budget=budget)
    assert again == plan


@given(memories(), budgets)
def test_what_returned_can_be_buried_again_whole(memory: Memory, budget: int) -> None:
    candidates, dormant, living = memory
    returned = [alive(dormant[key]) for key in keys_of(planned(candidates, dormant, living=living, budget=budget))]
    assert pruning.plan(returned, budget=1, fixed=1).total_after == 1
