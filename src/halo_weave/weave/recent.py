"""The newest text of a conversation: the current subject, whatever it may be worth later."""

from collections.abc import Iterable

from halo_weave.records.chunks import ChunkKey
from halo_weave.weave.living import LivingChunk, TurnKey

JUST_SAID = 0.02
"""The probability that a reply needs the newest chunk, whatever the message is about."""
HALF_AS_RECENT_TOKENS = 96
"""This probability halves with every so many tokens that were said since."""

JUST_RETURNED = 0.005
"""The same for text that returned for one of the last two messages: the next one is often about the same."""


def recencies(chunks: Iterable[LivingChunk], most_tokens: int) -> dict[ChunkKey, float]:
    """How likely a reply needs each of the newest chunks because they were said just now.

    These are the newest chunks that fit in this many tokens together, including their frames, and the newest one in any
    case unless that is 0. The search stops at the first chunk that does not fit, so that no older one counts as recent.
    """
    found: dict[ChunkKey, float] = {}
    framed: set[TurnKey] = set()
    since = 0
    for chunk in sorted(chunks, key=lambda one: one.first_position, reverse=True):
        tokens = chunk.tokens + (0 if chunk.turn in framed else chunk.frame)
        if since + tokens > most_tokens and (found or not most_tokens):
            break
        framed.add(chunk.turn)
        found[chunk.key] = JUST_SAID * 0.5 ** (since / HALF_AS_RECENT_TOKENS)
        since += tokens
    return found
