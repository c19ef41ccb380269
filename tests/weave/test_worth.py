"""The worth of a chunk: each of its parts, on chunks with an obvious order."""

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_weave.engine.echo import EchoEngine
from halo_weave.engine.llamacpp.engine import LlamaEngine
from halo_weave.records.chunks import ChunkKey
from halo_weave.records.roles import Role
from halo_weave.session.turn.turn import send
from halo_weave.weave import worth
from halo_weave.weave.settings import KeepsBy
from halo_weave.weave.worth import WorthInput
from support.windows import living, opened_hub, weave, with_section


def said(text: str, role: Role = "user", peak: float = 0.0) -> WorthInput:
    """Make one token per word."""
    words = text.split(" ")
    return WorthInput(role, tuple(word if place == 0 else f" {word}" for place, word in enumerate(words)), peak)


def test_what_was_said_first_is_new_and_its_repetition_is_not() -> None:
    """Four new words count 4 + 4 / 2, repeated ones 4 / 2, each divided by the square root of 4 tokens."""
    first, again = worth.novelty([said("green boats sail north"), said("Green boats sail north")])
    assert first == pytest.approx((4 + 2) / 2)
    assert again == pytest.approx(2 / 2)


def test_signs_are_no_words() -> None:
    assert worth.novelty([said("… ! — ?")]).tolist() == [0.0]


def test_names_and_numbers_count_but_not_the_beginnings_of_sentences() -> None:
    """Anna, Berlin and 1987 count; We and It only begin sentences, and I is not a name."""
    (found,) = worth.names([said("We met Anna in Berlin , 1987. It rained; I laughed.")])
    assert found == pytest.approx(3 / math.sqrt(11))


def test_a_script_without_capitals_has_no_names() -> None:
    assert worth.names([WorthInput("user", ("こんにちは", "世界"), 0.0)]).tolist() == [0.0]


def test_a_script_without_capitals_is_taken_to_have_as_many_names_as_others_have() -> None:
    chunks = [said("we met Anna"), said("they laughed then"), WorthInput("user", ("世界", "2019", "年"), 0.0)]
    assert worth.names(chunks).tolist() == pytest.approx([1 / math.sqrt(3), 0, (0.5 + 1) / math.sqrt(3)])


def test_novelty_counts_words_where_tokens_are_not_words() -> None:
    """Words in another order are new words; the same words in other tokens are not."""
    boats, other = "我们在上海买船", "海船上我们在买"
    first, same, new = worth.novelty([WorthInput("user", tuple(text), 0.0) for text in (boats, boats, other)])
    assert first > new > same
    cuts = [("зелё", "ные лод", "ки"), ("зел", "ёные ло", "дки")]
    values = worth.novelty([WorthInput("user", cut, 0.0) for cut in cuts])
    assert values.tolist() == pytest.approx([(2 + 1) / math.sqrt(3), 1 / math.sqrt(3)])


def test_who_says_little_is_ahead_and_who_says_as_much_is_not() -> None:
    """A role with a quarter of the tokens gets − log 1/4; with half of them each, both roles get the same."""
    little, much = worth.scarcity([said("a b"), said("c d e f g h", "assistant")])
    assert (little, much) == pytest.approx((math.log(4), -math.log(0.75)))
    one, other = worth.scarcity([said("a b"), said("c d", "assistant")])
    assert one == other


def test_brightness_counts_by_rank_and_equals_share_theirs() -> None:
    ranks = worth.brightness([said("a", peak=peak) for peak in (-5.0, 10_000.0, 3.0, 10_000.0)])
    assert ranks.tolist() == [1.0, 3.5, 2.0, 3.5]


def test_the_newest_wishes_of_users_count_up_to_an_eighth_of_the_context() -> None:
    """Of 80 tokens, 10 may be wishes: the newest user's (4), not the assistant's, one more (4), and no third."""
    wish = "Always answer in French."
    talk = said(" ".join(["so"] * 64))
    context = [said(wish), said(wish), talk, said(wish), said(wish, "assistant")]
    assert sum(len(one.texts) for one in context) == 80
    assert worth.wishes(context).tolist() == [0, 1, 0, 1, 0]


def test_the_brighter_of_two_alike_is_worth_more() -> None:
    context = [said("tell me", peak=1.0), said("tell me", peak=5.0), said("tell me", peak=3.0)]
    values = worth.worths(context)
    assert values[1] > values[2]


def test_an_empty_context_is_worth_nothing() -> None:
    assert worth.worths([]).shape == (0,)


@pytest.mark.parametrize(("keeps_by", "stays"), [("worth", True), ("brightness", False)])
def test_a_window_keeps_what_is_worth_most_or_what_is_brightest(tmp_path: Path, keeps_by: KeepsBy, stays: bool) -> None:
    """A fact that is never mentioned again is dim after some small talk, but no other chunk says the same."""
    settings = weave(budget_tokens=150, keeps_by=keeps_by)
    with opened_hub(tmp_path / "halo.db", EchoEngine(["Yes."]), settings) as hub:
        window = hub.open("facts")
        send(window, "My sister Nadia moved to Lisbon in 2019.")
        for _ in range(8):
            send(window, "Yes. Go on.")
        assert window.life.burial_log
        assert (ChunkKey(1, 0, "user") in window.life.context) is stays


def test_a_wish_outlives_what_is_said_after_it(tmp_path: Path, llama_engine: LlamaEngine) -> None:
    """The wish says nothing new, while each later message does and names somebody."""
    settings = with_section(weave(budget_tokens=320), "generation", max_tokens=12, temperature=0)
    with opened_hub(tmp_path / "halo.db", llama_engine, settings) as hub:
        window = hub.open("wishes")
        for opening in ("They always answer me in French.", "Always answer me in French."):
            send(window, opening)
        for name in ("Anna", "Otto", "Nadia", "Pablo", "Ingrid", "Tariq", "Mirjam", "Kofi", "Leila", "Bruno"):
            send(window, f"Then {name} sold {len(name)}7 red boats to the harbour of {name}haven in 19{len(name)}0.")
        assert window.life.burial_log
        assert "Always answer me in French." in [text for _, text in living(window)]


texts = st.lists(st.sampled_from(["a", " b", " Anna", " 7", "\n", "", " é", "🙂"]), min_size=0, max_size=8).map(tuple)
contexts = st.lists(
    st.builds(WorthInput, st.sampled_from(["user", "assistant", "system"]), texts, st.floats(-1e6, 10_000)), max_size=12
)


@given(contexts)
def test_any_context_has_a_finite_worth_for_each_chunk(context: list[WorthInput]) -> None:
    values = worth.worths(context)
    assert values.shape == (len(context),)
    assert np.all(np.isfinite(values))


@given(contexts)
def test_the_units_of_brightness_do_not_matter(context: list[WorthInput]) -> None:
    """Scorers differ in scale: doubling every brightness leaves the worth unchanged."""
    doubled = [one._replace(peak=2 * one.peak) for one in context]
    assert worth.worths(doubled) == pytest.approx(worth.worths(context))
