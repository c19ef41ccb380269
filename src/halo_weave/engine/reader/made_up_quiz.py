"""A quiz about made-up conversations, the same on every run, to find out which attention heads answer questions.

Half of the facts come up in a chat of three people, whose names stand before what they say, the other half in a chat
with an assistant. Every fact is told in the middle of small talk.
"""

import random
from collections.abc import Iterator

from halo_weave.engine.reader.made_up_facts import (
    NAMES,
    NUMBERS,
    PEOPLE,
    PLACES,
    PREFERENCES,
    SMALL_TALK,
    MadeUpFact,
)
from halo_weave.engine.reader.quiz import Quiz, QuizQuestion

_FACTS = (*NAMES, *NUMBERS, *PLACES, *PREFERENCES)


def made_up_quiz(seed: int = 1) -> Quiz:
    """Return two questions about each kind of fact, one about a person and one about the user."""
    chance = random.Random(seed)
    passages: list[str] = []
    questions: list[QuizQuestion] = []
    for person_first in (True, False):
        for fact in chance.sample(_FACTS, len(_FACTS)):
            person, other = chance.sample(PEOPLE, 2) if person_first else ("", "")
            said = _spoken(person, " ".join(_around(fact.told.format(value=fact.values[person_first]), chance)))
            questions.append(QuizQuestion(_asked(fact, person), frozenset([len(passages)])))
            passages.append(said)
            passages.append(_spoken(other, " ".join([fact.reply, chance.choice(SMALL_TALK)])))
    return Quiz(tuple(passages), tuple(questions))


def _around(told: str, chance: random.Random) -> Iterator[str]:
    before, after = chance.sample(SMALL_TALK, 2)
    yield before
    yield told
    yield after


def _spoken(person: str, text: str) -> str:
    return f"{person}: {text}" if person else text


def _asked(fact: MadeUpFact, person: str) -> str:
    if person:
        return fact.asked.format(who=person, whom=person, whose=f"{person}'s")
    return fact.asked.format(who="I", whom="me", whose="my")
