"""The newest exchanges: the current subject, whatever it may be worth later."""

from collections import Counter, defaultdict
from collections.abc import Iterable

from halo_weave.weave.living import LivingChunk, TurnKey


def newest_exchanges(chunks: Iterable[LivingChunk], most_tokens: int) -> frozenset[TurnKey]:
    """The turns of the newest exchanges that fit in this many tokens together, including their frames.

    An exchange is a question and its answer. The search stops at the first exchange that does not fit, so that no older
    exchange counts as recent.
    """
    tokens: Counter[int] = Counter()
    turns: defaultdict[int, set[TurnKey]] = defaultdict(set)
    for chunk in chunks:
        question = chunk.key.turn - (chunk.key.role == "assistant")
        tokens[question] += chunk.tokens + (0 if chunk.turn in turns[question] else chunk.frame)
        turns[question].add(chunk.turn)
    recent: set[TurnKey] = set()
    left = most_tokens
    for question in sorted(turns, reverse=True):
        left -= tokens[question]
        if left < 0:
            break
        recent |= turns[question]
    return frozenset(recent)
