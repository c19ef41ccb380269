"""Ranking heads by how well they find the answers to questions, as pure functions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_weave.engine.reader.head_ranking import RankedHead, chosen_head, reciprocal_ranks
from halo_weave.engine.reader.looking_head import LookingHead


def ranked(layer: int, head: int, reciprocal_rank: float) -> RankedHead:
    return RankedHead(LookingHead(layer, head, 0, (), 1.0), reciprocal_rank)


def test_a_question_counts_with_its_best_answer() -> None:
    attention = np.array([[3, 1, 2], [3, 1, 2], [3, 1, 2]], dtype=np.float32)
    assert reciprocal_ranks(attention, [{0}, {1}, {1, 2}]).tolist() == pytest.approx([1, 1 / 3, 1 / 2])


def test_a_head_that_looks_at_everything_alike_finds_nothing() -> None:
    assert reciprocal_ranks(np.ones((1, 50), dtype=np.float32), [{7}]).tolist() == [1 / 50]


rows = st.lists(st.floats(-5, 5, width=32), min_size=2, max_size=12)


@given(rows, st.data())
def test_more_attention_to_the_answer_never_lowers_its_rank(row: list[float], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(row) - 1))
    before = np.array([row], dtype=np.float32)
    after = before.copy()
    after[0, place] += np.float32(1)
    assert reciprocal_ranks(after, [{place}])[0] >= reciprocal_ranks(before, [{place}])[0]


def test_the_best_head_is_chosen() -> None:
    assert str(chosen_head([ranked(9, 2, 0.7), ranked(3, 1, 0.5), ranked(9, 3, 0.2)]).head) == "9.2"


def test_of_heads_that_are_nearly_equal_the_lowest_is_chosen_and_the_best_of_its_layer() -> None:
    heads = [ranked(9, 2, 0.700), ranked(5, 0, 0.690), ranked(5, 7, 0.695), ranked(2, 4, 0.6)]
    assert str(chosen_head(heads).head) == "5.7"


figures = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.floats(0, 1)), min_size=1, max_size=20)


@given(figures)
def test_the_choice_does_not_depend_on_the_order_of_the_heads(found: list[tuple[int, int, float]]) -> None:
    unique = {(layer, head): ranked(layer, head, value) for layer, head, value in found}
    heads = list(unique.values())
    assert chosen_head(heads) == chosen_head(heads[::-1])
