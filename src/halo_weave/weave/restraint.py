"""Decides which chunks that a search found are needed at all; often none.

A search always finds a closest chunk, even for "Hello!", so two thresholds apply. First, the message must be about
something in the memory: its best similarity plus its weighted best word match must reach `ABOUT_THE_MEMORY`, or it must
name a time at which something was said. Second, a chunk must score at least half as well as the best chunk.
`docs/resurrection.md` explains how the thresholds were chosen.
"""

from collections.abc import Sequence

from halo_weave.weave.resurrection import Candidate

ABOUT_THE_MEMORY = 0.68
"""Minimum of similarity plus weighted words; 98 of 100 questions with an answer in the memory reach it."""
ABOUT_THE_MEMORY_BY_WORDS = 1.3
"""Minimum word weight when no similarity is known."""
_WORDS_SHARE = 0.2
_LEAST_SHARE_OF_BEST_SCORE = 0.5


def needed(candidates: Sequence[Candidate], best_score: float) -> list[Candidate]:
    """The needed candidates, in their order. `best_score` is the best of all found chunks, including living ones."""
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
