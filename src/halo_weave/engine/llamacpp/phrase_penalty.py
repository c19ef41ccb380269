"""Penalises tokens that would repeat a phrase of the same reply, the more the longer the phrase already is.

This is the DRY penalty (https://github.com/oobabooga/text-generation-webui/pull/5677) over the reply alone, so that the
model may quote the conversation and what returned from the memory.
"""

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from halo_weave.engine.protocol import PHRASE_PENALTY_BASE, PHRASE_PENALTY_FREE_TOKENS

_LONGEST_PHRASE = 48
"""Beyond this length the penalty is far above any difference between logits."""


class PhrasePenalty:
    def __init__(self, strength: float) -> None:
        self._strength = strength
        self._reply: list[int] = []
        self._places: defaultdict[int, list[int]] = defaultdict(list)

    def accept(self, token_id: int) -> None:
        self._places[token_id].append(len(self._reply))
        self._reply.append(token_id)

    def penalised(self, logits: NDArray[np.float32]) -> NDArray[np.float32]:
        if not self._strength or not (penalties := self._penalties()):
            return logits
        lowered = logits.copy()
        for token_id, penalty in penalties.items():
            lowered[token_id] -= penalty
        return lowered

    def _penalties(self) -> dict[int, float]:
        reply = self._reply
        penalties: dict[int, float] = {}
        for place in self._places[reply[-1]][:-1] if reply else ():
            length = self._repeated_until(place)
            if length >= PHRASE_PENALTY_FREE_TOKENS:
                penalty = self._strength * PHRASE_PENALTY_BASE ** (length - PHRASE_PENALTY_FREE_TOKENS)
                follower = reply[place + 1]
                penalties[follower] = max(penalty, penalties.get(follower, 0.0))
        return penalties

    def _repeated_until(self, place: int) -> int:
        """Return how many tokens up to `place` equal the end of the reply."""
        reply, length = self._reply, 1
        while length <= place and length < _LONGEST_PHRASE and reply[place - length] == reply[-1 - length]:
            length += 1
        return length
