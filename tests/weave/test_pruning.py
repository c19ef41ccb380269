"""What leaves a context that is over budget, in which order and why; and what never leaves."""

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_weave.records.chunks import ChunkKey
from halo_weave.records.roles import Role
from halo_weave.weave import pruning
from halo_weave.weave.living import LivingChunk, tokens_in_all
from halo_weave.weave.pruning import Holding, PruningPlan
from halo_weave.weave.resurrection import group_keys

ROLES: tuple[Role, ...] = ("user", "assistant", "system")


def chunk(
    turn: int,
    index: int,
    role: Role,
    peak: float,
    *,
    at: int | None = None,
    tokens: int = 10,
    frame: int = 0,
    pinned: bool = False,
    current: bool = False,
) -> LivingChunk:
    position = 1000 * turn + 100 * index if at is None else at
    return LivingChunk(ChunkKey(turn, index, role), position, tokens, frame, peak, pinned, current)


def question(peak: float, index: int = 0, *, turn: int = 1, pinned: bool = False, current: bool = False) -> LivingChunk:
    return chunk(turn, index, "user", peak, pinned=pinned, current=current)


def answer(peak: float, index: int = 0, *, turn: int = 2, pinned: bool = False, current: bool = False) -> LivingChunk:
    return chunk(turn, index, "assistant", peak, pinned=pinned, current=current)


def names(plan: PruningPlan) -> list[str]:
    """Return the burials in short form: UT3S1 is chunk 1 of the user's turn 3."""
    return [f"{burial.key.role[0].upper()}T{burial.key.turn}S{burial.key.index}" for burial in plan.burials]


def is_held(chunk: LivingChunk) -> bool:
    return chunk.is_pinned or chunk.is_current


def value_of(chunk: LivingChunk) -> float:
    return chunk.peak if chunk.worth is None else chunk.worth


def anchors_of(key: ChunkKey) -> set[ChunkKey]:
    """Return the chunks needed to understand this one; an answer's own anchor needs only that of its question."""
    if key.role == "system":
        return set()
    own, question = ChunkKey(key.turn, 0, key.role), ChunkKey(key.turn - 1, 0, "user")
    return ({own, question} if key.role == "assistant" else {own}) - {key}


EXCHANGE = (
    chunk(3, 0, "user", 900),
    chunk(3, 1, "user", 30),
    chunk(3, 2, "user", 300),
    chunk(4, 0, "assistant", 900),
    chunk(4, 1, "assistant", 40),
    chunk(4, 2, "assistant", 400),
    chunk(4, 3, "assistant", 950),
    chunk(4, 4, "assistant", 3),
)
"""The worked example: bright anchors, one of which is dimmer than a chunk of the answer."""


def test_an_exchange_leaves_by_brightness_the_answers_anchor_then_and_the_questions_last() -> None:
    plan = pruning.plan(EXCHANGE, budget=1)
    assert names(plan) == ["AT4S4", "UT3S1", "AT4S1", "UT3S2", "AT4S2", "AT4S3", "AT4S0", "UT3S0"]
    assert [burial.code for burial in plan.burials] == ["dimmest"] * 6 + ["last_of_turn"] * 2
    assert plan.total_after == 0
    assert plan.held_by is None


def test_anchors_are_left_alone_once_the_rest_fits() -> None:
    plan = pruning.plan(EXCHANGE, budget=20)
    assert names(plan) == ["AT4S4", "UT3S1", "AT4S1", "UT3S2", "AT4S2", "AT4S3"]
    assert plan.total_after == 20


def test_one_token_over_takes_the_answers_anchor_and_leaves_the_question() -> None:
    plan = pruning.plan([question(1), answer(2)], budget=19)
    assert names(plan) == ["AT2S0"]
    assert plan.total_after == 10


def test_an_answer_leaves_while_its_whole_question_stays() -> None:
    chunks = [question(9), question(8, 1), answer(2), answer(1, 1)]
    assert names(pruning.plan(chunks, budget=20)) == ["AT2S1", "AT2S0"]


def test_a_budget_of_0_means_no_pruning() -> None:
    assert pruning.plan(EXCHANGE, budget=0, fixed=7) == PruningPlan((), 87, None)


def test_what_fits_exactly_stays() -> None:
    assert pruning.plan(EXCHANGE, budget=87, fixed=7) == PruningPlan((), 87, None)
    assert names(pruning.plan(EXCHANGE, budget=86, fixed=7)) == ["AT4S4"]


def test_an_empty_context_over_budget_says_what_holds_it() -> None:
    plan = pruning.plan([], budget=5, fixed=9)
    assert plan == PruningPlan((), 9, Holding(budget=5, fixed=9, current=0, pinned=0, anchors=0))


def test_of_equals_the_older_leaves_first() -> None:
    equals = [answer(5, index, turn=turn) for turn in (8, 2, 6) for index in (2, 1)]
    assert names(pruning.plan(equals, budget=30)) == ["AT2S1", "AT2S2", "AT6S1"]


def test_positions_beyond_any_machine_number_are_compared() -> None:
    older, newer = chunk(1, 1, "user", 0, at=2**70), chunk(3, 1, "user", 0, at=2**70 + 1)
    assert names(pruning.plan([newer, older], budget=10)) == ["UT1S1"]


def test_each_anchor_competes_by_its_own_brightness() -> None:
    pair = [question(1), answer(500)]
    assert names(pruning.plan([*pair, answer(499, 3, turn=8)], budget=20)) == ["AT8S3"]
    assert names(pruning.plan([*pair, answer(501, 3, turn=8)], budget=20)) == ["AT2S0"]
    assert names(pruning.plan([*pair, answer(501, 3, turn=8)], budget=10)) == ["AT2S0", "UT1S0"]


def test_dim_anchors_leave_next_when_the_last_that_needed_them_has_left() -> None:
    chunks = [question(1), answer(2), answer(50, 1), answer(60, 1, turn=12), answer(70, 1, turn=14)]
    assert names(pruning.plan(chunks, budget=20)) == ["AT2S1", "AT2S0", "UT1S0"]


@pytest.mark.parametrize("held", [{"pinned": True}, {"current": True}])
def test_an_answers_held_anchor_keeps_that_of_its_question(held: dict[str, bool]) -> None:
    plan = pruning.plan([question(1), answer(2, **held), answer(900, 1)], budget=5)
    assert names(plan) == ["AT2S1"]
    assert plan.held_by is not None
    assert plan.held_by.anchors == 10


@pytest.mark.parametrize("held", [{"pinned": True}, {"current": True}])
def test_a_held_question_keeps_its_own_anchor_and_nothing_of_its_answer(held: dict[str, bool]) -> None:
    plan = pruning.plan([question(1), question(3, 1, **held), answer(900), answer(2, 1)], budget=5)
    assert names(plan) == ["AT2S1", "AT2S0"]
    assert plan.held_by is not None
    assert plan.held_by.anchors == 10


def test_a_pinned_chunk_of_an_answer_keeps_both_anchors_of_its_exchange() -> None:
    plan = pruning.plan([question(1), answer(2), answer(3, 1, pinned=True), answer(4, 2)], budget=5)
    assert names(plan) == ["AT2S2"]
    assert plan.held_by == Holding(budget=5, fixed=0, current=0, pinned=10, anchors=20)


def test_without_the_pin_the_same_chunks_leave() -> None:
    plan = pruning.plan([question(1), answer(2), answer(3, 1), answer(4, 2)], budget=5)
    assert names(plan) == ["AT2S1", "AT2S2", "AT2S0", "UT1S0"]


def test_an_anchor_stays_for_its_turn_alone_if_its_question_does_not_live() -> None:
    plan = pruning.plan([answer(2), answer(9, 1), question(5, turn=11)], budget=1)
    assert names(plan) == ["UT11S0", "AT2S1", "AT2S0"]
    assert [burial.code for burial in plan.burials] == ["last_of_turn", "dimmest", "last_of_turn"]


def test_chunks_whose_anchors_were_deleted_leave_like_any_other() -> None:
    assert names(pruning.plan([answer(9, 1), answer(3, 2), question(5, 4)], budget=1)) == ["AT2S2", "UT1S4", "AT2S1"]


def test_chunks_of_the_system_role_have_no_anchor() -> None:
    chunks = [chunk(1, 0, "system", 1), chunk(1, 1, "system", 5), chunk(2, 0, "system", 3)]
    assert names(pruning.plan(chunks, budget=10)) == ["ST1S0", "ST2S0"]


def test_two_answers_in_a_row_are_not_one_exchange() -> None:
    assert names(pruning.plan([answer(1, turn=2), answer(2, turn=3)], budget=10)) == ["AT2S0"]


def test_a_frame_leaves_with_the_last_chunk_of_its_turn() -> None:
    chunks = [chunk(1, index, "user", 5 + index, frame=4) for index in (1, 2)]
    assert pruning.plan(chunks, budget=23).total_after == 14
    assert pruning.plan(chunks, budget=13).total_after == 0


def test_reasons_name_the_figures() -> None:
    chunks = [question(12), answer(40), answer(11.5, 1), answer(99, 1, turn=4)]
    assert [burial.reason for burial in pruning.plan(chunks, budget=1).burials] == [
        "Left because it received least attention (brightness 11.5, lowest of 2).",
        "Left because it received least attention (brightness 40, lowest of 2). Nothing of its turn is left in "
        "context.",
        "Left because it received least attention (brightness 12, lowest of 2). Nothing of its turn is left in "
        "context.",
        "Left because it received least attention (brightness 99, the only chunk that could leave). "
        "Nothing of its turn is left in context.",
    ]


def test_what_holds_the_budget_is_told_in_figures() -> None:
    chunks = [
        chunk(1, 0, "user", 1, tokens=20, frame=3),
        chunk(2, 0, "assistant", 1, tokens=30, frame=3),
        chunk(2, 1, "assistant", 1, tokens=40, frame=3, pinned=True),
        chunk(3, 0, "user", 1, tokens=50, frame=3, current=True, pinned=True),
    ]
    held_by = pruning.plan(chunks, budget=60, fixed=7).held_by
    assert held_by == Holding(budget=60, fixed=7, current=53, pinned=43, anchors=53)
    assert str(held_by) == (
        "The context exceeds the budget (156 of 60 tokens: 43 for pinned text, 53 for openings that it depends on, "
        "53 for the current turn, 7 for the system prompt). Unpin something, or raise the budget."
    )


def test_what_alone_holds_the_budget_is_told_with_what_becomes_of_it() -> None:
    assert str(pruning.plan([], budget=5, fixed=9).held_by) == (
        "The system prompt alone exceeds the budget (9 of 5 tokens). Shorten it, or raise the budget."
    )
    message = chunk(3, 0, "user", 1, tokens=3266, current=True)
    assert str(pruning.plan([message], budget=500, fixed=11).held_by) == (
        "This message alone exceeds the budget (3,277 of 500 tokens). It stays until the next turn."
    )


def test_worth_goes_before_brightness_and_is_told() -> None:
    """The dimmer chunk is worth more, so the brighter one leaves, with its own peak on record."""
    poor, rich = question(99, 1)._replace(worth=-0.5), answer(1, 1)._replace(worth=2.0)
    (burial,) = pruning.plan([poor, rich], budget=rich.tokens + rich.frame).burials
    assert (burial.key, burial.peak) == (poor.key, 99)
    assert burial.reason == (
        "Left because it added least: few new words or names, little attention (score -0.50, lowest of 2). "
        "Nothing of its turn is left in context."
    )


peaks = st.integers(-3, 3).map(float) | st.floats(-1e6, 10_000)


@st.composite
def contexts(draw: st.DrawFn) -> list[LivingChunk]:
    """Draw any possible context: exchanges with holes, turns of several windows, roles in any order."""
    keys = draw(
        st.lists(
            st.builds(ChunkKey, st.integers(0, 5), st.integers(0, 3), st.sampled_from(ROLES)), max_size=24, unique=True
        )
    )
    positions = draw(st.permutations(range(len(keys))))
    current = draw(st.sets(st.integers(0, 5), max_size=1))
    by_worth = draw(st.booleans())
    return [
        LivingChunk(
            key,
            position,
            tokens=draw(st.integers(1, 9)),
            frame=(key.turn + len(key.role)) % 4,
            peak=draw(peaks),
            is_pinned=draw(st.integers(0, 9)) == 0,
            is_current=key.turn in current,
            worth=draw(peaks) if by_worth else None,
            recency=draw(st.sampled_from([0.0, 0.25, 0.5])) if by_worth else 0.0,
        )
        for key, position in zip(keys, positions, strict=True)
    ]


budgets = st.integers(1, 60)
fixed_tokens = st.integers(0, 20)


def may_leave(living: Sequence[LivingChunk]) -> list[LivingChunk]:
    """The same rules by brute force."""
    needed = {anchor for one in living for anchor in anchors_of(one.key)}
    return [one for one in living if one.key not in needed and not is_held(one)]


def burials_one_by_one(chunks: Sequence[LivingChunk], budget: int, fixed: int) -> list[ChunkKey]:
    living, buried = list(chunks), []
    while fixed + tokens_in_all(living) > budget and (free := may_leave(living)):
        least = min(free, key=lambda one: (one.recency, value_of(one), one.first_position))
        living.remove(least)
        buried.append(least.key)
    return buried


@given(contexts(), budgets, fixed_tokens)
def test_the_plan_is_what_the_rules_give_one_by_one(chunks: list[LivingChunk], budget: int, fixed: int) -> None:
    plan = pruning.plan(chunks, budget=budget, fixed=fixed)
    assert [burial.key for burial in plan.burials] == burials_one_by_one(chunks, budget, fixed)


@given(contexts(), budgets, fixed_tokens)
def test_the_rest_fits_or_it_is_told_what_holds_it(chunks: list[LivingChunk], budget: int, fixed: int) -> None:
    plan = pruning.plan(chunks, budget=budget, fixed=fixed)
    staying = _staying(chunks, plan)
    assert plan.total_after == fixed + tokens_in_all(staying)
    assert (plan.held_by is None) == (plan.total_after <= budget)
    if held := plan.held_by:
        assert held.fixed + held.current + held.pinned + held.anchors == plan.total_after
        needed = {anchor for one in staying if is_held(one) for anchor in anchors_of(one.key)}
        assert all(is_held(one) or one.key in needed for one in staying)


@given(contexts(), budgets, fixed_tokens)
def test_what_is_pinned_or_current_is_never_buried(chunks: list[LivingChunk], budget: int, fixed: int) -> None:
    plan = pruning.plan(chunks, budget=budget, fixed=fixed)
    assert {one.key for one in chunks if is_held(one)}.isdisjoint(burial.key for burial in plan.burials)


@given(contexts(), budgets, fixed_tokens)
def test_what_lives_on_keeps_the_anchors_that_would_return_with_it(
    chunks: list[LivingChunk], budget: int, fixed: int
) -> None:
    plan = pruning.plan(chunks, budget=budget, fixed=fixed)
    buried = {burial.key for burial in plan.burials}
    for one in _staying(chunks, plan):
        assert buried.isdisjoint(group_keys(one.key))


@given(contexts(), budgets, fixed_tokens)
def test_no_burial_was_needless(chunks: list[LivingChunk], budget: int, fixed: int) -> None:
    plan = pruning.plan(chunks, budget=budget, fixed=fixed)
    before_last = {burial.key for burial in plan.burials[:-1]}
    if plan.burials:
        assert fixed + tokens_in_all(one for one in chunks if one.key not in before_last) > budget


@given(contexts(), budgets, fixed_tokens)
def test_of_all_that_may_leave_the_least_worth_leaves_first(chunks: list[LivingChunk], budget: int, fixed: int) -> None:
    living = {one.key: one for one in chunks}
    for burial in pruning.plan(chunks, budget=budget, fixed=fixed).burials:
        free = may_leave(list(living.values()))
        least = living.pop(burial.key)
        assert least in free
        assert all((one.recency, value_of(one)) >= (least.recency, value_of(least)) for one in free)


@given(contexts(), budgets, fixed_tokens, st.randoms())
def test_the_order_of_the_chunks_does_not_matter(
    chunks: list[LivingChunk], budget: int, fixed: int, random: Random
) -> None:
    shuffled = list(chunks)
    random.shuffle(shuffled)
    plan = pruning.plan(chunks, budget=budget, fixed=fixed)
    assert pruning.plan(shuffled, budget=budget, fixed=fixed) == plan


@given(contexts(), budgets, fixed_tokens)
def test_a_pruned_context_needs_no_more_pruning(chunks: list[LivingChunk], budget: int, fixed: int) -> None:
    plan = pruning.plan(chunks, budget=budget, fixed=fixed)
    again = pruning.plan(_staying(chunks, plan), budget=budget, fixed=fixed)
    assert again == PruningPlan((), plan.total_after, plan.held_by)


@given(contexts(), budgets, budgets)
def test_a_smaller_budget_buries_the_same_and_more(chunks: list[LivingChunk], first: int, second: int) -> None:
    smaller, larger = sorted((first, second))
    fewer = pruning.plan(chunks, budget=larger).burials
    assert pruning.plan(chunks, budget=smaller).burials[: len(fewer)] == fewer


def _staying(chunks: Sequence[LivingChunk], plan: PruningPlan) -> list[LivingChunk]:
    buried = {burial.key for burial in plan.burials}
    return [one for one in chunks if one.key not in buried]
