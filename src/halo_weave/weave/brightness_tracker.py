"""Tracks a context's brightness during generation, in flat arrays over all tokens so that each step is cheap."""

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from halo_weave.engine.protocol import Attention
from halo_weave.weave.brightness.protocol import Scorer, Sight, State
from halo_weave.weave.brightness.validation import problem
from halo_weave.weave.layout import Layout
from halo_weave.weave.living import TurnKey


class BrightnessTracker:
    """Starts from a layout and appends new tokens to it. `settle` writes the resulting state back to the chunks.

    Tokens of `current` turns are not scored. New tokens are scored only if `scores_new` is true.
    """

    def __init__(
        self, scorer: Scorer, layout: Layout, *, current: Collection[TurnKey], room: int, scores_new: bool
    ) -> None:
        self._scorer = scorer
        self._spans = layout.spans
        self._scores_new = scores_new
        self._begin = self._count = len(layout.placed)
        capacity = self._count + room
        self._state = np.zeros((scorer.lanes, capacity), dtype=np.float32)
        self._scored = np.zeros(capacity, dtype=bool)
        self._scored[: self._count] = layout.scored(current)
        for chunk, start, end in layout.spans:
            self._state[:, start:end] = chunk.state
        self._latest: Attention | None = None
        self.malformed = 0
        self.last_problem = ""

    def observe(self, attention: Attention | None) -> bool:
        """Score a step's attention. Invalid attention is counted and changes nothing; the result is then False."""
        found = problem(attention, self._count)
        if found is not None or attention is None:
            self.malformed += 1
            self.last_problem = found or ""
            return False
        self._latest = attention
        size = self._count
        self._scorer.observe(self._state[:, :size], Sight(attention, self._scored[:size]))
        return True

    def add(self) -> None:
        """Append a new token."""
        if self._count == self._state.shape[1]:
            self._grow()
        self._state[:, self._count : self._count + 1] = self._scorer.fresh(1)
        self._scored[self._count] = self._scores_new
        self._count += 1

    def settle(self) -> None:
        for chunk, start, end in self._spans:
            chunk.state = self._state[:, start:end].copy()

    def new_state(self) -> State:
        """The state of all tokens that were added."""
        return self._state[:, self._begin : self._count].copy()

    def word_brightness(self) -> bytes:
        """The brightness of the chunks' tokens in order, as little-endian 16-bit integers."""
        rows = [self._state[0, start:end] for _, start, end in self._spans]
        flat = np.concatenate(rows) if rows else np.empty(0, dtype=np.float32)
        return np.clip(np.rint(flat), -32_768, 32_767).astype("<i2").tobytes()

    def word_attention(self) -> bytes:
        """The latest attention of the chunks' tokens in order: square roots, as little-endian 16-bit fractions of 1.

        The square root preserves more detail, because most shares are small.
        """
        latest = self._latest
        rows = [] if latest is None else [latest[start:end] for _, start, end in self._spans]
        flat = np.concatenate(rows) if rows else np.empty(0, dtype=np.float32)
        roots: NDArray[np.uint16] = np.rint(np.sqrt(flat) * 65_535).astype("<u2")
        return roots.tobytes()

    def _grow(self) -> None:
        more = max(64, self._count)
        self._state = np.pad(self._state, ((0, 0), (0, more)))
        self._scored = np.pad(self._scored, (0, more))
