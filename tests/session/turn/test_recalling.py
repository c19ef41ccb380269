"""How likely a reply needs what the search found; nothing returns for a message unrelated to the memory."""

from collections.abc import Collection, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halo_weave.engine.echo import EchoEngine
from halo_weave.memory.embedders.embedder import EmbedderSettings
from halo_weave.memory.search.query_terms import TellingTerms
from halo_weave.memory.search.search import Hit
from halo_weave.memory.store.protocol import Store
from halo_weave.records.chunks import Chunk, ChunkKey, utc_now
from halo_weave.records.tokens import Token
from halo_weave.session.hub import Hub
from halo_weave.session.turn.need import ABOUT_THE_MEMORY_BY_WORDS, about_the_memory, needs_of
from halo_weave.session.turn.recalling import plan_context
from halo_weave.session.turn.turn import send
from halo_weave.weave.settings import WeaveSettings
from support.made_up_chunks import written_texts
from support.windows import PLAIN, WORDS_ALONE, Clock, opened_hub, seen_text, weave

RECALLING = weave(PLAIN, resurrection=True)
SAID = (
    "My cat Miso sleeps on the warm router.",
    "The ferry to the island was late because of the crane.",
    "I bake bread with rye flour; the sour dough is from my aunt Ida.",
    "We painted the kitchen green, and the old lamp hangs above the table again.",
    "On Tuesdays I play chess with Jonas, who always opens with the queen's pawn.",
    "The car needs new brakes before we drive over the pass to Italy.",
    "My sister is allergic to hazelnuts and carries a pen with adrenaline.",
    "The lease of the flat ends in October, and the landlord wants to renovate.",
)


def hit(
    score: float, similarity: float | None = None, word_weight: float = 0.0, *, is_of_named_time: bool = False
) -> Hit:
    turn = int(100 * score)
    chunk = Chunk.of_tokens(ChunkKey(turn, 0, "user"), [Token(1, "x")], first_position=turn, time=utc_now())
    return Hit(
        turn, chunk, score, similarity, None, None, None, word_weight=word_weight, is_of_named_time=is_of_named_time
    )


def needed(hits: list[Hit], living: Collection[ChunkKey] = (), likeness: float = 0.2) -> list[Hit]:
    needs = needs_of(hits, likeness, living)
    return [one for one in hits if needs[one.chunk.key] >= WeaveSettings().floor]


def test_what_is_neither_close_nor_shares_words_is_not_needed() -> None:
    assert needed([hit(5, 0.3), hit(4, 0.2, word_weight=0.9)]) == []


@pytest.mark.parametrize(
    "best",
    [
        hit(5, 0.6),
        hit(5, 0.4, word_weight=2.0),
        hit(5, None, word_weight=ABOUT_THE_MEMORY_BY_WORDS),
        hit(5, 0.1, is_of_named_time=True),
    ],
    ids=["close", "close and shares words", "shares words, without vectors", "of a time that the message names"],
)
def test_what_the_message_is_about_is_needed(best: Hit) -> None:
    assert needed([best]) == [best]


def test_a_message_that_is_like_ordinary_ones_needs_nothing_however_close_their_words_are() -> None:
    """A greeting finds the greetings of a year, and finds them close."""
    greeting = hit(5, 0.6, word_weight=1.0)
    assert needed([greeting], likeness=0.2) == [greeting]
    assert needed([greeting], likeness=0.8) == []


@given(similarity=st.floats(0, 1), words=st.floats(0, 9), likeness=st.floats(0, 1), more=st.floats(0, 0.5))
def test_closer_and_rarer_words_make_a_message_more_about_the_memory_and_likeness_less(
    similarity: float, words: float, likeness: float, more: float
) -> None:
    about = about_the_memory([hit(5, similarity, words)], likeness)
    assert 0 <= about <= 1
    assert about <= about_the_memory([hit(5, similarity + more, words)], likeness)
    assert about <= about_the_memory([hit(5, similarity, words + more)], likeness)
    assert about >= about_the_memory([hit(5, similarity, words)], likeness + more)


def test_the_word_for_recall_sets_the_least_need_unless_a_number_does() -> None:
    sparing, balanced, generous = (WeaveSettings(recall=word).floor for word in ("sparing", "balanced", "generous"))
    assert sparing > balanced > generous > 0
    assert WeaveSettings(recall="sparing", least_need=0.5).floor == 0.5


def test_what_scores_less_than_half_of_the_best_is_not_needed() -> None:
    best, good, weak = hit(6, 0.8), hit(3, 0.3), hit(2.9, 0.3)
    assert needed([best, good, weak]) == [best, good]
    assert needed([best, hit(2.9, 0.8)], living=[best.chunk.key]) == [best]


def test_that_a_message_is_about_living_text_brings_nothing_back() -> None:
    living, dormant = hit(6, 0.9), hit(5, 0.4)
    assert needed([living, dormant], living=[living.chunk.key]) == [living]


def test_a_better_score_is_needed_more_and_every_need_is_a_probability() -> None:
    needs = list(needs_of([hit(9, 0.8), hit(8.5, 0.7), hit(6, 0.9)], 0.2, ()).values())
    assert needs == sorted(needs, reverse=True)
    assert all(0 < need < 1 for need in needs)
    assert needs_of([], 0.2, ()) == {}


def test_a_word_of_one_chunk_weighs_1_and_a_word_of_all_next_to_nothing(store: Store) -> None:
    written_texts(store, "the cat", "the dog", "the crane", "the lamp")
    weights = {term.text: term.weight for term in TellingTerms(store, 1.0).of("the cat and the unheard-of")}
    assert weights["cat"] == 1
    assert 0 < weights["the"] < 0.2


@pytest.fixture(params=[EmbedderSettings(), WORDS_ALONE], ids=["words and meaning", "words alone"])
def hub(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Hub]:
    with opened_hub(
        tmp_path / "halo.db", EchoEngine(["I see."] * 20), RECALLING, embedder=request.param, clock=Clock()
    ) as hub:
        for text in SAID:
            send(hub.open("before"), text)
        hub.open("before").memory.settle()
        yield hub


@pytest.mark.parametrize("message", ["Hello!", "Count to four.", "Much obliged!", "Why is the sky blue?"])
def test_a_message_that_needs_nothing_brings_nothing_back(hub: Hub, message: str) -> None:
    assert send(hub.open("new"), message).figures.resurrected == 0


def test_a_greeting_does_not_bring_back_the_greetings_of_earlier_days(tmp_path: Path) -> None:
    with opened_hub(
        tmp_path / "halo.db", EchoEngine(["Fine!"] * 9), RECALLING, embedder=EmbedderSettings(), clock=Clock()
    ) as hub:
        for text in ("Hello, how are you doing today?", "Good evening! Did you have a nice day?", *SAID):
            send(hub.open("before"), text)
        hub.open("before").memory.settle()
        for greeting in ("Hello, how are you today?", "Good evening, my friend!"):
            assert send(hub.open("new"), greeting).figures.resurrected == 0


def test_a_question_about_the_past_brings_its_answer_back(hub: Hub) -> None:
    window = hub.open("new")
    assert send(window, "Where does my cat Miso sleep?").figures.resurrected > 0
    assert SAID[0] in seen_text(window)
    assert SAID[1] not in seen_text(window)


def test_what_returned_and_was_not_looked_at_does_not_return_for_the_next_messages_unless_they_need_it_more(
    hub: Hub,
) -> None:
    window, question = hub.open("new"), "Where does my cat Miso sleep?"
    life = window.life

    def miso() -> list[ChunkKey]:
        plan = plan_context(window, question, 10_000, before=10**9)
        return [one.key for one in plan.returns if one.found is not None and one.found.key == one.key]

    (key, *_) = miso()
    life.compose(plan_context(window, question, 10_000, before=10**9))
    life.context[key].shine(0)
    life.prune(1)
    assert key not in miso()
    life.compose(plan_context(window, "Hello!", 10_000, before=10**9))
    assert key not in miso()
    for _ in range(2):
        life.compose(plan_context(window, "Hello!", 10_000, before=10**9))
    assert key in miso()


def test_what_returned_and_was_looked_at_may_return_at_once(hub: Hub) -> None:
    window, question = hub.open("new"), "Where does my cat Miso sleep?"
    plan = plan_context(window, question, 10_000, before=10**9)
    window.life.compose(plan)
    window.life.prune(1)
    again = plan_context(window, question, 10_000, before=10**9)
    assert [one.key for one in again.returns] == [one.key for one in plan.returns]
