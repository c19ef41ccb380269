"""What lives after whole conversations, on tiny data with known answers."""

import pytest

from halo_weave.bench.conversations import Question
from halo_weave.bench.keep import life
from halo_weave.bench.keep.feeding import FedChunk, FedConversation, FedTurn
from halo_weave.records.roles import Role

BUDGET = 40
EMPTY_TALK = "yes well yes well yes well yes well yes well"


def conversation(*said: tuple[Role, str]) -> FedConversation:
    """Each turn is one chunk with one token per word."""
    turns, chunks, place = [], [], 0
    for number, (role, text) in enumerate(said):
        texts = tuple(f" {word}" for word in text.split())
        turns.append(FedTurn(str(number), role, place, place + len(texts)))
        chunks.append(FedChunk(number, 0, role, place, place + len(texts), texts))
        place += len(texts)
    return FedConversation("a", tuple(range(place)), tuple(turns), tuple(chunks))


def question(*evidence: str) -> Question:
    return Question("a", "What was it?", evidence, "plain")


def alive(fed: FedConversation, name: str, *, recent_tokens: int = 0) -> list[int]:
    living = life.living_after(fed, life.ORDERS[name], budget=BUDGET, recent_tokens=recent_tokens)
    return [place for place, lives in enumerate(living) if lives]


def one_exchange(question: str, answer: str) -> list[tuple[Role, str]]:
    return [("user", question), ("assistant", answer)]


def small_talk(exchanges: int) -> list[tuple[Role, str]]:
    return one_exchange(EMPTY_TALK, EMPTY_TALK) * exchanges


def test_the_newest_live_where_the_oldest_leave_first() -> None:
    """Four turns of ten words fill the budget."""
    assert alive(conversation(*small_talk(5)), "fifo") == [6, 7, 8, 9]


def test_nothing_leaves_a_context_that_is_not_full() -> None:
    assert alive(conversation(*small_talk(2)), "fifo") == [0, 1, 2, 3]


def test_what_is_new_lives_on_by_worth_and_not_without_novelty() -> None:
    fact: tuple[Role, str] = ("user", "our cellar hides seven crates of bitter orange marmalade downstairs")
    fed = conversation(fact, *small_talk(6)[1:])
    assert 0 in alive(fed, "worth")
    assert 0 not in alive(fed, "without_novelty")


def test_a_wish_lives_on_by_worth_and_not_without_wishes() -> None:
    """The wish says nothing new, but the turns after it do."""
    said = ["They always answer me in French", "Always answer me in French"]
    said += [f"Then Anna{number} sold {number} boats to Otto{number} in 19{number}" for number in range(10, 30)]
    fed = conversation(*[turn for one in said for turn in one_exchange(one, EMPTY_TALK)])
    assert 2 in alive(fed, "worth")
    assert 2 not in alive(fed, "without_wishes")


def test_recent_exchanges_stay_whatever_they_are_worth() -> None:
    roles: tuple[Role, Role] = ("user", "assistant")
    facts = [(role, " ".join(f"{role}{turn}{sign}" for sign in "abcdefghij")) for turn in range(3) for role in roles]
    fed = conversation(*facts, *small_talk(1))
    assert 7 not in alive(fed, "worth")
    assert alive(fed, "worth", recent_tokens=20)[-2:] == [6, 7]


def test_the_share_of_the_evidence_that_lives_is_what_is_counted() -> None:
    """Of the evidence, turn 9 lives and turn 0 does not; a question without evidence is not counted."""
    fed = conversation(*small_talk(5))
    figures = life.measure([fed], [question("0", "9"), question("9"), question()], budget=BUDGET, recent_tokens=0)
    assert figures["questions"] == 2
    assert figures["orders"]["fifo"]["living"] == pytest.approx(75)
    assert figures["worth_ahead_of"].keys() == life.ORDERS.keys() - {"worth"}
