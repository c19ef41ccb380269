"""Attention of a question to chunks, as pure functions."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from halo_weave.engine.reader.protocol import Look
from halo_weave.memory.attention.looking import attention, looked_at, shares

VALUES = 4


def look(*queries: tuple[float, ...]) -> Look:
    found = np.array(queries, dtype=np.float32).reshape(len(queries), VALUES)
    weights = np.full(len(queries), 1 / max(len(queries), 1), dtype=np.float32)
    return Look(tuple("word" for _ in queries), found, weights)


def keys(*rows: tuple[int, ...]) -> NDArray[np.int8]:
    return np.array(rows, dtype=np.int8).reshape(-1, VALUES)


def test_each_word_counts_with_the_token_that_it_looks_at_most() -> None:
    found = attention(look((1, 0, 0, 0), (0, 1, 0, 0)), {7: keys((5, 0, 0, 0), (0, 3, 0, 0), (1, 1, 0, 0))}, [7])
    assert found.tolist() == [4.0]


def test_a_chunk_without_keys_has_no_attention() -> None:
    found = attention(look((1, 0, 0, 0)), {1: keys((2, 0, 0, 0)), 2: keys()}, [3, 1, 2])
    assert np.isnan(found[[0, 2]]).all()
    assert found[1] == 2.0


def test_an_empty_question_looks_at_nothing() -> None:
    assert np.isnan(attention(look(), {1: keys((2, 0, 0, 0))}, [1])).all()
    assert looked_at(look(), keys((2, 0, 0, 0)), ["word"]) == []


def test_the_shares_of_all_tokens_add_up_to_one_and_the_most_looked_at_token_has_the_largest() -> None:
    found = shares(
        look((1, 0, 0, 0), (0, 1, 0, 0)), {7: keys((9, 0, 0, 0), (0, 1, 0, 0)), 8: keys(), 9: keys((0, 9, 0, 1))}
    )
    assert list(found) == [7, 9]
    assert abs(np.concatenate(list(found.values())).sum() - 1) < 1e-6
    assert min(found[7][0], found[9][0]) > 0.49 > found[7][1]
    assert shares(look(), {7: keys((9, 0, 0, 0))}) == shares(look((1, 0, 0, 0)), {}) == {}


rows = st.lists(st.tuples(*[st.integers(-127, 127)] * VALUES), min_size=1, max_size=6)
queries = st.lists(st.tuples(*[st.floats(-2, 2, width=32)] * VALUES), min_size=1, max_size=4)


@given(st.dictionaries(st.integers(1, 9), rows, min_size=1), queries)
def test_the_attention_of_a_chunk_does_not_depend_on_the_other_chunks(
    chunks: dict[int, list[tuple[int, ...]]], asked: list[tuple[float, ...]]
) -> None:
    stored = {chunk_id: keys(*own) for chunk_id, own in chunks.items()}
    together = attention(look(*asked), stored, list(stored))
    alone = [attention(look(*asked), {one: own}, [one])[0] for one, own in stored.items()]
    assert np.allclose(together, alone, atol=1e-3)


@given(rows, rows, queries)
def test_more_text_never_takes_attention_away(
    first: list[tuple[int, ...]], more: list[tuple[int, ...]], asked: list[tuple[float, ...]]
) -> None:
    short, long = (attention(look(*asked), {1: keys(*own)}, [1])[0] for own in (first, [*first, *more]))
    assert long >= short - 1e-3


@given(
    st.lists(st.text(st.sampled_from("ab 1é世.\n"), max_size=4), min_size=1, max_size=12),
    queries,
    st.integers(0, 2**31),
)
def test_words_that_are_looked_at_are_in_order_inside_the_text_and_do_not_overlap(
    pieces: list[str], asked: list[tuple[float, ...]], seed: int
) -> None:
    own = np.random.default_rng(seed).integers(-127, 127, (len(pieces), VALUES), dtype=np.int8)
    spans = looked_at(look(*asked), own, pieces)
    text = "".join(pieces)
    edges = [edge for span in spans for edge in span]
    assert edges == sorted(edges)
    assert all(text[start:end].strip() == text[start:end] != "" for start, end in spans)


def test_a_word_of_several_tokens_is_underlined_whole() -> None:
    own = keys((0, 0, 0, 0), (100, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0))
    assert looked_at(look((1, 0, 0, 0)), own, ["My", " Bis", "cuit", " swims"]) == [(3, 10)]
