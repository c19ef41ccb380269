"""The pure difference between two contexts."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_weave.engine.difference import common_prefix, difference, require_order
from halo_weave.engine.protocol import Placed
from halo_weave.errors import InputError

contexts = st.dictionaries(st.integers(0, 60), st.integers(0, 2)).map(
    lambda tokens: [Placed(position, tokens[position]) for position in sorted(tokens)]
)


@given(contexts, contexts)
def test_kept_and_inserted_tokens_make_up_the_new_context(old: list[Placed], new: list[Placed]) -> None:
    changes = difference(old, new)
    built: dict[int, Placed] = {}
    for run in changes.kept:
        for offset in range(run.length):
            built[run.new + offset] = old[run.old + offset]
    for start, end in changes.inserted:
        for index in range(start, end):
            assert index not in built
            built[index] = new[index]
    assert [built[index] for index in sorted(built)] == new


@given(contexts, contexts)
def test_every_old_token_is_kept_or_removed(old: list[Placed], new: list[Placed]) -> None:
    changes = difference(old, new)
    kept = {run.old + offset for run in changes.kept for offset in range(run.length)}
    removed = {index for run in changes.removed for index in range(*run)}
    assert kept | removed == set(range(len(old)))
    assert not kept & removed
    assert {old[index] for index in kept} == set(old) & set(new)


@given(contexts, contexts)
def test_runs_are_in_order_and_as_long_as_possible(old: list[Placed], new: list[Placed]) -> None:
    changes = difference(old, new)
    for runs in (changes.removed, changes.inserted):
        assert all(earlier[1] < later[0] for earlier, later in pairwise(runs))
    for earlier, later in pairwise(changes.kept):
        assert earlier.old + earlier.length <= later.old
        assert earlier.new + earlier.length <= later.new


def test_a_long_common_beginning_is_found_exactly() -> None:
    old = [Placed(position, 1) for position in range(1000)]
    new = [*old[:700], Placed(700, 2), *old[701:]]
    assert common_prefix(old, new) == 700
    assert common_prefix(old, old) == 1000


def test_positions_that_do_not_ascend_are_refused() -> None:
    require_order([Placed(1, 0), Placed(2, 0)])
    with pytest.raises(InputError, match="Position 2 comes after position 2"):
        require_order([Placed(2, 0), Placed(2, 1)])
