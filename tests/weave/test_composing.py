"""The context for a message: what stays, what returns and what leaves, under one budget; and what always holds."""

from collections.abc import Iterable
from random import Random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_weave.records.chunks import ChunkKey
from halo_weave.records.roles import Role
from halo_weave.weave import composing, pruning
from halo_weave.weave.composing import ContextPlan
from halo_weave.weave.living import LivingChunk
from halo_weave.weave.resurrection import Candidate, Dormant, StartingBrightness, group_keys

ROLES: tuple[Role, ...] = ("user", "assistant", "system")
STARTING = StartingBrightness("largest", mean=0)
CHANGE = 3
"""A small change of a budget, in tokens."""


def user(turn: int, index: int = 0) -> ChunkKey:
    return ChunkKey(turn, index, "user")


def assistant(turn: int, index: int = 0) -> ChunkKey:
    return ChunkKey(turn, index, "assistant")


def living(
    key: ChunkKey, *, need: float = 0.0, recency: float = 0.0, worth: float = 0.0, tokens: int = 10
) -> LivingChunk:
    return LivingChunk(key, 1000 * key.turn + key.index, tokens, 0, 0.0, worth=worth, recency=recency, need=need)


def dormant(*keys: ChunkKey, tokens: int = 10, is_kept: bool = False) -> dict[ChunkKey, Dormant]:
    return {key: Dormant(key, 1000 * key.turn + key.index, tokens, 0, is_kept=is_kept) for key in keys}


def found(key: ChunkKey, need: float) -> Candidate:
    return Candidate(key, need, need=need)


def planned(
    chunks: Iterable[LivingChunk],
    candidates: Iterable[Candidate],
    memory: dict[ChunkKey, Dormant],
    *,
    budget: int,
    fixed: int = 0,
    most_read: int = 0,
    floor: float = 0.0,
    price: float = 0.01,
) -> ContextPlan:
    return composing.plan(
        list(chunks),
        list(candidates),
        memory,
        budget=budget,
        fixed=fixed,
        most_read=most_read,
        floor=floor,
        price=price,
        starting=STARTING,
    )


def returning(plan: ContextPlan) -> list[ChunkKey]:
    return [revival.key for revival in plan.returns]


def leaving(plan: ContextPlan) -> list[ChunkKey]:
    return [burial.key for burial in plan.leaves]


def context_of(plan: ContextPlan) -> set[ChunkKey]:
    return {stay.key for stay in plan.stays} | set(returning(plan))


def test_a_question_about_the_past_takes_the_room_that_it_needs() -> None:
    chunks = [living(user(5), worth=3), living(user(7), recency=0.5)]
    plan = planned(chunks, [found(user(1), 0.4)], dormant(user(1)), budget=20)
    assert returning(plan) == [user(1)]
    assert leaving(plan) == [user(5)]
    assert [stay.key for stay in plan.stays] == [user(7)]


def test_what_was_said_just_now_stays_for_a_message_that_needs_little_else() -> None:
    chunks = [living(user(7), recency=0.5), living(assistant(8), recency=0.4)]
    plan = planned(chunks, [found(user(1), 0.1)], dormant(user(1)), budget=20)
    assert (returning(plan), leaving(plan)) == ([], [])
    assert [skipped.key for skipped in plan.skipped] == [user(1)]


def test_living_text_that_the_message_needs_stays_before_text_that_is_worth_more() -> None:
    chunks = [living(user(1), worth=9), living(user(3), need=0.2, worth=-9), living(user(5), worth=8)]
    plan = planned(chunks, [], {}, budget=20)
    assert leaving(plan) == [user(5)]
    assert [(stay.key, stay.code) for stay in plan.stays] == [(user(1), "room"), (user(3), "needed")]


def test_reading_has_a_price_and_a_copy_has_none() -> None:
    unlikely = [found(user(1), 0.02)]
    assert returning(planned([], unlikely, dormant(user(1)), budget=50, price=0.03)) == []
    plan = planned([], unlikely, dormant(user(1), is_kept=True), budget=50, price=0.03)
    assert returning(plan) == [user(1)]
    assert (plan.returned_tokens, plan.read_tokens) == (10, 0)


def test_nothing_below_the_floor_returns_even_if_it_costs_nothing() -> None:
    memory = dormant(user(1), user(3), is_kept=True)
    plan = planned([], [found(user(1), 0.1), found(user(3), 0.3)], memory, budget=50, floor=0.2)
    assert returning(plan) == [user(3)]


def test_no_more_is_read_than_the_limit_says_and_copies_do_not_count() -> None:
    memory = {**dormant(user(1), user(3), user(5)), **dormant(user(7), tokens=99, is_kept=True)}
    wanted = [found(user(1), 0.4), found(user(3), 0.3), found(user(5), 0.2), found(user(7), 0.1)]
    plan = planned([], wanted, memory, budget=500, most_read=25)
    assert returning(plan) == [user(1), user(3), user(7)]
    assert (plan.read_tokens, plan.returned_tokens) == (20, 119)
    assert [(skipped.key, skipped.needed, skipped.left) for skipped in plan.skipped] == [(user(5), 10, 5)]


def test_what_is_likelier_to_be_needed_returns_first_and_its_anchors_with_it() -> None:
    memory = {**dormant(user(1), assistant(2), tokens=40), **dormant(assistant(2, 1), user(5))}
    likely = [found(user(5), 0.2), found(assistant(2, 1), 0.3)]
    plan = planned([], likely, memory, budget=100)
    assert returning(plan) == [assistant(2, 1), assistant(2), user(1), user(5)]
    assert [revival.code for revival in plan.returns] == ["found", "anchor", "anchor", "found"]
    assert returning(planned([], likely, memory, budget=89)) == [user(5)]


def test_a_living_anchor_stays_for_a_chunk_that_returns() -> None:
    chunks = [living(user(1), worth=-9), living(user(5), worth=9)]
    plan = planned(chunks, [found(user(1, 2), 0.4)], dormant(user(1, 2)), budget=20)
    assert returning(plan) == [user(1, 2)]
    assert [(stay.key, stay.code) for stay in plan.stays] == [(user(1), "anchor")]


def test_each_decision_has_its_reason() -> None:
    chunks = [living(user(1)), living(user(3), need=0.25), living(user(5), recency=0.4)]
    plan = planned(chunks, [found(user(9), 0.4)], dormant(user(9)), budget=30)
    assert {stay.key: stay.reason for stay in plan.stays} == {
        user(3): "The message needs it (probability 0.25).",
        user(5): "Said or brought back just now.",
    }
    assert [burial.reason for burial in plan.leaves] == [
        "Left because this message does not need it, and other text needed the room. Nothing of its turn is left in "
        "context."
    ]
    assert [revival.reason for revival in plan.returns] == ["Found by the search; probability of being needed 0.4."]


def test_without_a_limit_everything_needed_returns_and_nothing_leaves() -> None:
    plan = planned([living(user(5))], [found(user(1), 0.4)], dormant(user(1)), budget=0)
    assert context_of(plan) == {user(1), user(5)}


keys = st.builds(ChunkKey, st.integers(0, 5), st.integers(0, 3), st.sampled_from(ROLES))
needs = st.sampled_from([0.0, 0.01, 0.1, 0.5]) | st.floats(0, 1)


class Case(msgspec.Struct, frozen=True):
    chunks: list[LivingChunk]
    candidates: list[Candidate]
    memory: dict[ChunkKey, Dormant]

    def planned(self, budget: int, fixed: int = 0) -> ContextPlan:
        return planned(self.chunks, self.candidates, self.memory, budget=budget, fixed=fixed)

    def size_of(self, key: ChunkKey) -> int:
        return next((one.tokens for one in self.chunks if one.key == key), 0) or self.memory[key].tokens


def frame_of(key: ChunkKey) -> int:
    return (key.turn + len(key.role)) % 4


@st.composite
def cases(draw: st.DrawFn, *, has_message: bool = True) -> Case:
    """Draw any possible context and any search result: exchanges with holes, deleted anchors, roles in any order."""
    there = draw(st.lists(keys, max_size=14, unique=True))
    elsewhere = draw(st.lists(keys, max_size=14, unique=True)) if has_message else []
    positions = dict(zip(dict.fromkeys([*there, *elsewhere]), draw(st.permutations(range(28))), strict=False))
    current = draw(st.sets(st.integers(0, 5), max_size=1))
    chunks = [
        LivingChunk(
            key,
            positions[key],
            draw(st.integers(1, 9)),
            frame_of(key),
            peak=0.0,
            is_pinned=draw(st.integers(0, 9)) == 0,
            is_current=key.turn in current,
            worth=draw(st.integers(-3, 3).map(float)),
            recency=draw(st.sampled_from([0.0, 0.25, 0.5])),
            need=draw(needs) if has_message else 0.0,
        )
        for key in there
    ]
    memory = {
        key: Dormant(key, positions[key], draw(st.integers(1, 9)), frame_of(key), is_kept=draw(st.booleans()))
        for key in elsewhere
        if key not in there
    }
    candidates = [found(key, draw(needs)) for key in memory if draw(st.booleans())]
    return Case(chunks, candidates, memory)


budgets = st.integers(1, 80)
fixed_tokens = st.integers(0, 20)


def tokens_of(case: Case, chosen: Iterable[ChunkKey]) -> int:
    chosen = set(chosen)
    return sum(map(case.size_of, chosen)) + sum({(key.turn, key.role): frame_of(key) for key in chosen}.values())


@given(cases(), budgets, fixed_tokens)
def test_the_budget_is_never_exceeded_or_it_is_told_what_holds_it(case: Case, budget: int, fixed: int) -> None:
    plan = case.planned(budget, fixed)
    assert plan.total_after == fixed + tokens_of(case, context_of(plan))
    assert (plan.held_by is None) == (plan.total_after <= budget)
    if plan.held_by is not None:
        held = plan.held_by
        assert held.fixed + held.current + held.pinned + held.anchors == plan.total_after


@given(st.data())
def test_a_plan_never_reads_more_than_the_limit(data: st.DataObject) -> None:
    case, budget, most_read = data.draw(cases()), data.draw(budgets), data.draw(st.integers(1, 40))
    plan = planned(case.chunks, case.candidates, case.memory, budget=budget, most_read=most_read)
    assert plan.read_tokens <= most_read
    assert plan.read_tokens == sum(case.memory[key].tokens for key in returning(plan) if not case.memory[key].is_kept)


@given(cases(), budgets, fixed_tokens)
def test_each_chunk_stays_leaves_or_returns_once(case: Case, budget: int, fixed: int) -> None:
    plan = case.planned(budget, fixed)
    stays = [stay.key for stay in plan.stays]
    assert sorted([*stays, *leaving(plan)]) == sorted(one.key for one in case.chunks)
    assert len(set(returning(plan))) == len(plan.returns)
    assert set(returning(plan)) <= case.memory.keys()


@given(cases(), budgets, fixed_tokens)
def test_what_stays_is_listed_in_the_order_of_the_conversation(case: Case, budget: int, fixed: int) -> None:
    positions = {one.key: one.first_position for one in case.chunks}
    listed = [positions[stay.key] for stay in case.planned(budget, fixed).stays]
    assert listed == sorted(listed)


@given(cases(), budgets, fixed_tokens)
def test_anchors_outlive_what_hangs_on_them(case: Case, budget: int, fixed: int) -> None:
    """What returns brings its anchors along; what stays keeps those that live."""
    plan = case.planned(budget, fixed)
    there, alive = context_of(plan), {one.key for one in case.chunks}
    for key in returning(plan):
        assert (alive | case.memory.keys()).intersection(group_keys(key)) <= there
    for stay in plan.stays:
        assert alive.intersection(group_keys(stay.key)) <= there


@given(cases(), budgets, fixed_tokens)
def test_what_is_pinned_or_current_stays(case: Case, budget: int, fixed: int) -> None:
    held = {one.key for one in case.chunks if one.is_pinned or one.is_current}
    assert held.isdisjoint(leaving(case.planned(budget, fixed)))


@given(cases(), budgets, fixed_tokens, st.randoms(use_true_random=False))
def test_the_order_of_what_is_given_does_not_matter(case: Case, budget: int, fixed: int, random: Random) -> None:
    other = Case(
        random.sample(case.chunks, len(case.chunks)),
        random.sample(case.candidates, len(case.candidates)),
        dict(random.sample(list(case.memory.items()), len(case.memory))),
    )
    assert other.planned(budget, fixed) == case.planned(budget, fixed)


@given(cases(has_message=False), budgets, fixed_tokens)
def test_without_a_message_the_same_chunks_leave_as_by_pruning(case: Case, budget: int, fixed: int) -> None:
    plan = case.planned(budget, fixed)
    pruned = pruning.plan(case.chunks, budget=budget, fixed=fixed)
    assert leaving(plan) == [burial.key for burial in pruned.burials]
    assert plan.total_after == pruned.total_after
    assert plan.held_by == pruned.held_by


@given(cases(), budgets, st.integers(1, CHANGE))
def test_a_few_more_tokens_change_the_plan_by_little(case: Case, budget: int, more: int) -> None:
    """By the first group that now fits, and by what was there in its place."""
    before, after = context_of(case.planned(budget)), context_of(case.planned(budget + more))
    known = {one.key for one in case.chunks} | case.memory.keys()
    groups = [tokens_of(case, known.intersection(group_keys(key))) for key in known]
    changed = sum(map(case.size_of, before ^ after))
    assert changed <= 2 * max(groups, default=0) + more


@given(cases(), budgets, st.floats(0, 0.2), st.data())
def test_a_chunk_that_becomes_more_needed_does_not_go(
    case: Case, budget: int, more: float, data: st.DataObject
) -> None:
    there = [one for one in case.candidates if one.key in context_of(case.planned(budget))]
    if not there:
        return
    chosen = data.draw(st.sampled_from(there))
    raised = [one._replace(need=min(1, one.need + more)) if one == chosen else one for one in case.candidates]
    other = msgspec.structs.replace(case, candidates=raised)
    assert chosen.key in context_of(other.planned(budget))


@given(cases(), budgets)
def test_only_what_is_needed_enough_returns_as_a_target(case: Case, budget: int) -> None:
    plan = planned(case.chunks, case.candidates, case.memory, budget=budget, floor=0.3)
    targets = {revival.key for revival in plan.returns if revival.code == "found"}
    assert targets <= {one.key for one in case.candidates if one.need >= 0.3}


@pytest.mark.parametrize("change", [-0.001, 0.001])
def test_a_slightly_different_need_gives_the_same_plan_unless_two_were_level(change: float) -> None:
    chunks = [living(user(5), recency=0.4), living(user(7), worth=1)]
    memory = dormant(user(1), user(3))
    plans = [
        planned(chunks, [found(user(1), 0.3 + more), found(user(3), 0.1)], memory, budget=30) for more in (0, change)
    ]
    assert returning(plans[0]) == returning(plans[1]) == [user(1), user(3)]
    assert leaving(plans[0]) == leaving(plans[1]) == [user(7)]
