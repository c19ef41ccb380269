"""The made-up quiz can be answered, and not by words alone."""

import re

from halo_weave.engine.reader.made_up_quiz import made_up_quiz


def words(text: str) -> set[str]:
    return {word for word in re.findall(r"\w+", text.lower()) if len(word) > 3}


def test_the_quiz_is_the_same_on_every_run() -> None:
    assert made_up_quiz() == made_up_quiz()
    assert made_up_quiz() != made_up_quiz(seed=2)


def test_every_question_has_one_answer_and_no_placeholder_is_left() -> None:
    quiz = made_up_quiz()
    assert len(quiz.questions) == 80
    for question in quiz.questions:
        assert len(question.answers) == 1
    assert not any("{" in text for text in (*quiz.passages, *(question.text for question in quiz.questions)))
    assert len({place for question in quiz.questions for place in question.answers}) == 80


def test_most_questions_share_no_more_than_a_name_with_their_answer() -> None:
    quiz = made_up_quiz()
    shared = [words(question.text) & words(quiz.passages[min(question.answers)]) for question in quiz.questions]
    assert sum(len(common) <= 1 for common in shared) > 0.75 * len(shared)
