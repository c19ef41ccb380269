"""Which of the chunks that a search found are needed at all; often none.

A search always finds something that is closest, even to "Hello!". So two floors are applied. The message as a whole
must be about something in the memory: its best similarity and the most words that one chunk shares with it, taken
together, reach `ABOUT_THE_MEMORY`, or it names a time at which something was said. And a chunk must score at least
half as well as the best one. `docs/resurrection.md` says how the floors were chosen.
"""

from collections.abc import Sequence

from halo_weave.weave.resurrection import Candidate

ABOUT_THE_MEMORY = 0.68
"""The least of similarity plus weighted words; 98 of 100 questions with an answer in the memory reach it."""
ABOUT_THE_MEMORY_BY_WORDS = 1.3
"""The least word weight where no similarity is known."""
_WORDS_SHARE = 0.2
_LEAST_SHARE_OF_BEST_SCORE = 0.5


def needed(candidates: Sequence[Candidate], best_score: float) -> list[Candidate]:
    """In their order. `best_score` is that of all chunks that were found, the living ones included."""
    if not _is_about_the_memory(candidates):
        return []
    least = _LEAST_SHARE_OF_BEST_SCORE * best_score
    return [candidate for candidate in candidates if candidate.score >= least]


def _is_about_the_memory(candidates: Sequence[Candidate]) -> bool:
    if any(candidate.is_of_named_time for candidate in candidates):
        return True
    words = max((candidate.word_weight for candidate in candidates), default=0.0)
    similarities = [one.similarity for one in candidates if one.similarity is not None]
    if not similarities:
        return words >= ABOUT_THE_MEMORY_BY_WORDS
    return max(similarities) + _WORDS_SHARE * words >= ABOUT_THE_MEMORY
