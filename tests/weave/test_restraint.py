"""Nothing returns for a message unrelated to the memory, however large the memory is."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from halo_weave.engine.echo import EchoEngine
from halo_weave.memory.embedders.embedder import EmbedderSettings
from halo_weave.memory.search.query_terms import TellingTerms
from halo_weave.memory.store.protocol import Store
from halo_weave.records.chunks import ChunkKey
from halo_weave.session.hub import Hub
from halo_weave.session.turn.turn import send
from halo_weave.weave import restraint
from halo_weave.weave.resurrection import Candidate
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


def found(score: float, similarity: float | None = None, word_weight: float = 0.0, **more: bool) -> Candidate:
    return Candidate(ChunkKey(int(100 * score), 0, "user"), score, similarity, word_weight=word_weight, **more)


def test_what_is_neither_close_nor_shares_words_does_not_return() -> None:
    assert restraint.needed([found(5, 0.48), found(4, 0.2, word_weight=0.9)], best_score=5) == []


@pytest.mark.parametrize(
    "best",
    [
        found(5, restraint.ABOUT_THE_MEMORY),
        found(5, 0.4, word_weight=1.5),
        found(5, None, word_weight=restraint.ABOUT_THE_MEMORY_BY_WORDS),
        found(5, 0.1, is_of_named_time=True),
    ],
    ids=["close", "close and shares words", "shares words, without vectors", "of a time that the message names"],
)
def test_what_the_message_is_about_returns(best: Candidate) -> None:
    assert restraint.needed([best], best_score=5) == [best]


def test_what_scores_less_than_half_of_the_best_does_not_return() -> None:
    best, good, weak = found(6, 0.8), found(3, 0.3), found(2.9, 0.3)
    assert restraint.needed([best, good, weak], best_score=6) == [best, good]


def test_what_lives_already_sets_the_mark_too() -> None:
    assert restraint.needed([found(3, 0.8)], best_score=6.1) == []


def test_nothing_is_needed_of_nothing() -> None:
    assert restraint.needed([], best_score=0) == []


def test_at_most_512_tokens_return_unless_more_are_asked_for() -> None:
    assert WeaveSettings().resurrection_cap == 512


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


@pytest.mark.parametrize("message", ["Hello!", "Count to four.", "Thanks a lot!", "Why is the sky blue?"])
def test_a_message_that_needs_nothing_brings_nothing_back(hub: Hub, message: str) -> None:
    assert send(hub.open("new"), message).figures.resurrected == 0


def test_a_question_about_the_past_brings_its_answer_back(hub: Hub) -> None:
    window = hub.open("new")
    assert send(window, "Where does my cat Miso sleep?").figures.resurrected > 0
    assert SAID[0] in seen_text(window)
    assert SAID[1] not in seen_text(window)
