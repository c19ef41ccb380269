"""The interface of every brightness scorer.

A scorer keeps no state of its own about a context. Its state for each token is a column of float32 in an array that
belongs to the window, which saves, restores, cuts and joins the array; row 0 is the brightness. A chunk is as bright as
its brightest token. Only the order of chunks within one context matters, so the scales of two scorers may differ.
"""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

NEW_BRIGHTNESS = 10_000.0
"""Brightness of new tokens and of chunks that a user brings back, for every scorer: unproven text stays for now."""

State = NDArray[np.float32]


class Sight(NamedTuple):
    """The attention of one step: an entry for each token that the context had in that step.

    Token i of n is n − i tokens away from the token that attends. `scored` is False for the system prompt, for frames
    and, depending on the settings, for the current turn.
    """

    attention: NDArray[np.float32]
    scored: NDArray[np.bool_]


class Scorer(Protocol):
    """Scorers reuse buffers between steps, so only one thread at a time may use a scorer."""

    @property
    def name(self) -> str: ...

    @property
    def lanes(self) -> int:
        """Number of rows in the state."""
        ...

    def fresh(self, count: int) -> State:
        """The state of new tokens, which are bright until they have had a chance to receive attention."""
        ...

    def revived(self, count: int, brightness: float) -> State:
        """The state of tokens that return with a given brightness and change from there."""
        ...

    def observe(self, state: State, sight: Sight) -> None:
        """Update the state in place with one step. Column i belongs to entry i of the sight.

        Columns that are not scored, and the sink's column, do not change. The attention must have passed `problem`.
        Raises ValueError, and changes nothing, if the sight and the state differ in length.
        """
        ...
