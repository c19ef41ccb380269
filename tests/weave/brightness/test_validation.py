"""Attention that must not be learnt from is described by one phrase."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_weave.bench.texts import TokenStream
from halo_weave.engine import GenerationSettings
from halo_weave.engine.llamacpp.engine import LlamaEngine
from halo_weave.weave.brightness import problem

GOOD = np.array([0.25, 0.5, 0.25], dtype=np.float32)


def test_sound_attention_has_no_problem() -> None:
    assert problem(GOOD, 3) is None


def test_what_the_bundled_model_looks_at_while_it_reads_and_writes_is_sound(llama_engine: LlamaEngine) -> None:
    context = llama_engine.open_context()
    try:
        report = context.sync(TokenStream(llama_engine).take(80), observe=True)
        assert report.read is not None
        assert report.reading is not None
        for place, row in zip(report.read, report.reading, strict=True):
            assert problem(row[: place + 1], int(place) + 1) is None
        for number, step in enumerate(context.generate(GenerationSettings(temperature=0, max_tokens=4))):
            assert problem(step.attention, 80 + number) is None
    finally:
        context.close()


@pytest.mark.parametrize(
    ("attention", "phrase"),
    [
        (None, "attention is missing"),
        (GOOD[:2], "attention has 2 entries for 3 tokens"),
        (np.append(GOOD, np.float32(0)), "attention has 4 entries for 3 tokens"),
        (np.empty(0, dtype=np.float32), "attention has 0 entries for 3 tokens"),
        (GOOD.reshape(1, 1, 3), "attention has 3 dimensions instead of 1"),
        (np.array([0.5, np.nan, 0.5]), "attention has values that are not finite"),
        (np.array([0.5, np.inf, 0.5]), "attention has values that are not finite"),
        (np.array([-np.inf, np.inf, 0.5]), "attention has values that are not finite"),
        (np.array([3e38, 3e38, 3e38]), "attention has values that are not finite"),
        (np.array([0.75, -0.25, 0.5]), "attention has a negative entry, -0.25"),
        (np.array([0.5, 0.5, 0.5]), "attention sums to 1.5 instead of 1"),
        (np.zeros(3), "attention sums to 0 instead of 1"),
    ],
)
def test_each_kind_of_malformed_attention_is_named(attention: np.ndarray | None, phrase: str) -> None:
    row = None if attention is None else attention.astype(np.float32)
    assert problem(row, 3) == phrase


def test_a_context_without_tokens_has_no_sound_attention() -> None:
    assert problem(np.empty(0, dtype=np.float32), 0) == "attention sums to 0 instead of 1"


@pytest.mark.parametrize(("total", "is_sound"), [(0.995, True), (1.005, True), (0.98, False), (1.02, False)])
def test_a_sum_may_be_off_by_a_hundredth(total: float, is_sound: bool) -> None:
    assert (problem(GOOD * np.float32(total), 3) is None) is is_sound


@given(st.integers(1, 50), st.data())
def test_one_bad_entry_is_found_wherever_it_stands(tokens: int, data: st.DataObject) -> None:
    row = np.full(tokens, 1 / tokens, dtype=np.float32)
    assert problem(row, tokens) is None
    place = data.draw(st.integers(0, tokens - 1))
    row[place] = data.draw(st.sampled_from([np.nan, np.inf, -np.inf, -1e-6, -1.0]))
    assert problem(row, tokens) is not None
