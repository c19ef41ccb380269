"""What messages looked at, as orders of `bench keep`."""

from contextlib import closing

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_weave.bench.keep import looking
from halo_weave.bench.keep.feeding import FedChunk, FedConversation, FedTurn
from halo_weave.engine.reader.llama_reader import open_bundled_reader
from halo_weave.paths import bundled_model_path, cache_folder
from halo_weave.records.roles import Role

LATER = np.nan
"""Said only after the message."""


def conversation(*said: tuple[Role, str]) -> FedConversation:
    """Each turn is one chunk with one token per word."""
    turns, chunks, place = [], [], 0
    for number, (role, text) in enumerate(said):
        texts = tuple(f" {word}" for word in text.split())
        turns.append(FedTurn(str(number), role, place, place + len(texts)))
        chunks.append(FedChunk(number, 0, role, place, place + len(texts), texts))
        place += len(texts)
    return FedConversation("a", tuple(range(place)), tuple(turns), tuple(chunks))


def test_a_message_looks_at_what_was_said_before_it_and_most_at_what_it_is_about() -> None:
    fed = conversation(
        ("user", "My parrot Kofi learned to whistle last spring."),
        ("assistant", "How lovely, I would like to hear that one day."),
        ("user", "The train to work was late again this morning."),
        ("assistant", "That must have been annoying for you."),
        ("user", "What did my parrot learn?"),
        ("assistant", "To whistle."),
    )
    with closing(open_bundled_reader(bundled_model_path(), cache_folder())) as reader:
        looks = looking.looks_of(reader, fed)
    assert looks.shape == (1, 6)
    assert np.isnan(looks[0]).tolist() == [False, False, False, False, True, True]
    assert all(int(np.argmax(order)) == 0 for name, order in looking.orders(looks).items() if "afar" not in name)


def test_a_chunk_that_every_message_looks_at_most_comes_first_in_every_order() -> None:
    looks = np.array([[0.0, 5.0, 1.0, 0.5, *[0.2] * 8, LATER], [0.2, 6.0, 0.0, 0.4, *[0.1] * 8, 0.3]])
    assert {name: int(np.argmax(order)) for name, order in looking.orders(looks).items()} == dict.fromkeys(
        looking.LOOKING_ORDERS, 1
    )


def test_a_look_from_close_by_does_not_count_from_afar() -> None:
    looks = np.array([[*[0.0] * 10, 9.0, 0.0]])
    orders = looking.orders(looks)
    assert int(np.argmax(orders["looked_at_mean"])) == 10
    assert orders["looked_at_from_afar"][10] == orders["looked_at_from_afar"][0]


def test_an_older_look_counts_less_where_looks_fade() -> None:
    early, late = [9.0, 0.0, 0.0, 0.0], [0.0, 9.0, 0.0, 0.0]
    even = [0.0] * 4
    orders = looking.orders(np.array([early, *[even] * 40, late]))
    assert orders["looked_at_sum"][0] == pytest.approx(orders["looked_at_sum"][1])
    assert orders["looked_at_lately"][0] < 0.5 * orders["looked_at_lately"][1]


def test_without_messages_all_chunks_are_equal() -> None:
    orders = looking.orders(np.empty((0, 3)))
    assert all(order.tolist() == [0, 0, 0] for order in orders.values())


@given(st.lists(st.integers(-50, 50), min_size=4, max_size=12), st.sampled_from([0.5, 3.0]), st.integers(-9, 9))
def test_only_differences_between_chunks_count_whatever_a_message_looks_at_on_average(
    row: list[int], scale: float, shift: int
) -> None:
    looks = np.array([row], dtype=np.float64)
    for one, other in zip(looking.orders(looks).values(), looking.orders(scale * looks + shift).values(), strict=True):
        assert one == pytest.approx(other, abs=1e-6)
