"""Short quizzes for tests of the probe, which read the whole quiz in a minute only."""

from halo_weave.engine.reader.made_up_quiz import made_up_quiz
from halo_weave.engine.reader.quiz import Quiz


def short_quiz(questions: int) -> Quiz:
    """Return the first questions of the made-up quiz and the passages up to their answers."""
    quiz = made_up_quiz()
    chosen = quiz.questions[:questions]
    last = max(place for question in chosen for place in question.answers)
    return Quiz(quiz.passages[: last + 1], chosen)
