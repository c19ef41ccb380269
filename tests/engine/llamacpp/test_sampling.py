"""Choosing tokens from logits."""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_weave.bench.repetition import repetition
from halo_weave.engine.llamacpp.library import load_library
from halo_weave.engine.llamacpp.phrase_penalty import PhrasePenalty
from halo_weave.engine.llamacpp.sampling import REPEAT_WINDOW, Sampler
from halo_weave.engine.protocol import PHRASE_PENALTY_FREE_TOKENS, GenerationSettings

UNPENALISED = 1
LOGITS = np.array([1.0, 3.0, 2.0, -1.0, 2.9], dtype=np.float32)


def chosen(settings: GenerationSettings, count: int = 1, recent: Sequence[int] = ()) -> list[int]:
    sampler = Sampler(load_library(), settings, recent, len(LOGITS))
    try:
        return [sampler.choose(LOGITS) for _ in range(count)]
    finally:
        sampler.close()


@pytest.mark.parametrize(
    "settings",
    [
        GenerationSettings(temperature=0, repeat_penalty=UNPENALISED),
        GenerationSettings(temperature=5, top_k=1, repeat_penalty=UNPENALISED),
        GenerationSettings(temperature=5, top_p=0.01, repeat_penalty=UNPENALISED),
        GenerationSettings(temperature=5, min_p=1.0, repeat_penalty=UNPENALISED),
    ],
)
def test_each_of_these_always_takes_the_likeliest(settings: GenerationSettings) -> None:
    assert chosen(settings, 50) == [1] * 50


def test_choices_follow_the_probabilities_of_the_model() -> None:
    counts = Counter(
        chosen(GenerationSettings(temperature=1, top_p=1, top_k=0, seed=5, repeat_penalty=UNPENALISED), 20_000)
    )
    expected = np.exp(LOGITS) / np.exp(LOGITS).sum()
    for token, share in enumerate(expected):
        assert counts[token] / 20_000 == pytest.approx(share, abs=0.015)


def test_top_k_leaves_only_the_likeliest_few() -> None:
    assert set(
        chosen(GenerationSettings(temperature=3, top_p=1, top_k=2, seed=1, repeat_penalty=UNPENALISED), 200)
    ) == {1, 4}


def test_the_same_seed_gives_the_same_choices_and_no_seed_others() -> None:
    seeded = GenerationSettings(temperature=2, top_p=1, top_k=0, seed=77)
    assert chosen(seeded, 40) == chosen(seeded, 40)
    free = GenerationSettings(temperature=2, top_p=1, top_k=0)
    assert len({tuple(chosen(free, 40)) for _ in range(3)}) > 1


def test_a_repeat_penalty_holds_back_what_was_said_lately() -> None:
    settings = GenerationSettings(temperature=0, repeat_penalty=1.5)
    assert chosen(settings, recent=[1]) == [4]
    assert chosen(settings, 2) == [1, 4]
    assert chosen(GenerationSettings(temperature=0, repeat_penalty=UNPENALISED), recent=[1]) == [1]


def test_a_repeat_penalty_reaches_back_just_as_far_as_it_says() -> None:
    settings = GenerationSettings(temperature=0, repeat_penalty=1.5)
    assert chosen(settings, recent=[1, *[0] * (REPEAT_WINDOW - 1)]) == [4]
    assert chosen(settings, recent=[1, *[0] * REPEAT_WINDOW]) == [1]
    sampler = Sampler(load_library(), settings, [1, *[0] * (REPEAT_WINDOW - 1)], len(LOGITS))
    most_of_all_zero = np.array([9.0, 3.0, 2.0, -1.0, 2.9], dtype=np.float32)
    assert (sampler.choose(most_of_all_zero), sampler.choose(LOGITS)) == (0, 1)
    sampler.close()


def test_unless_told_otherwise_what_was_said_lately_is_held_back_a_little() -> None:
    assert chosen(GenerationSettings(temperature=0), recent=[1]) == [4]


def test_a_phrase_penalty_ends_a_loop_that_nothing_else_would_end() -> None:
    looping = GenerationSettings(temperature=0, repeat_penalty=UNPENALISED)
    assert set(chosen(looping, 40)) == {1}
    penalised = chosen(msgspec.structs.replace(looping, phrase_penalty=0.8), 40)
    runs = [len(list(group)) for _, group in groupby(penalised)]
    assert max(runs) <= 2 * PHRASE_PENALTY_FREE_TOKENS


def test_a_phrase_penalty_leaves_what_was_said_before_the_reply_alone() -> None:
    settings = GenerationSettings(temperature=0, repeat_penalty=UNPENALISED, phrase_penalty=10)
    assert chosen(settings, PHRASE_PENALTY_FREE_TOKENS, recent=[1] * 60) == [1] * PHRASE_PENALTY_FREE_TOKENS


@given(st.lists(st.integers(0, 4), min_size=200, max_size=200))
def test_with_a_phrase_penalty_no_phrase_can_be_forced_to_repeat_for_long(wishes: list[int]) -> None:
    """Whatever the model prefers by ten, a phrase of twelve tokens is penalised by more."""
    penalty = PhrasePenalty(0.8)
    reply: list[int] = []
    for wish in [*wishes[:40], *wishes[:40], *wishes[:40]]:
        logits = np.zeros(5, dtype=np.float32)
        logits[wish] = 10
        reply.append(int(np.argmax(penalty.penalised(logits))))
        penalty.accept(reply[-1])
    assert repetition(reply).longest <= 12
