"""The contract of every store: restoring tokens from positions."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from halo_weave.errors import InputError
from halo_weave.memory.store.protocol import Store
from halo_weave.records.chunks import Chunk
from support.made_up_chunks import made_up_chunk
from support.store_answers import all_tokens


def test_tokens_come_back_in_ascending_order_each_once(store: Store) -> None:
    store.reserve(100)
    chunks = [made_up_chunk(1, 0, first=10, count=20), made_up_chunk(1, 1, first=40, count=20)]
    store.write_chunks(chunks)
    tokens = all_tokens(chunks)
    assert store.tokens_by_positions([]) == []
    assert store.tokens_by_positions(range(100)) == tokens
    assert store.tokens_by_positions([59, 10, 10, 12, 35, 99, 10**30]) == [tokens[0], tokens[2], tokens[-1]]
    assert store.tokens_by_positions([0, 9, 30, 39, 60]) == []


@pytest.mark.parametrize("position", [-1, 1.0, True, "1"])
def test_what_is_no_position_is_refused(store: Store, position: Any) -> None:
    with pytest.raises(InputError):
        store.tokens_by_positions([0, position])


@given(st.data())
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_set_of_positions_is_restored(store: Store, data: st.DataObject) -> None:
    start = store.reserve(200).position_start
    first = start
    chunks: list[Chunk] = []
    turn = store.stats().next_turn - 1
    for gap, count in data.draw(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 12)), max_size=8)):
        chunks.append(made_up_chunk(turn, len(chunks), first=first + gap, count=count))
        first += gap + count
    store.write_chunks(chunks)
    wanted = [start + offset for offset in data.draw(st.lists(st.integers(0, 150)))]
    assert store.tokens_by_positions(wanted) == [token for token in all_tokens(chunks) if token.position in set(wanted)]
