"""A quiz: passages, and questions each of which some of the passages answer."""

from typing import NamedTuple


class QuizQuestion(NamedTuple):
    """`answers` are the indices of the passages that answer the question, at least one."""

    text: str
    answers: frozenset[int]


class Quiz(NamedTuple):
    """The passages follow each other, as in a conversation."""

    passages: tuple[str, ...]
    questions: tuple[QuizQuestion, ...]
