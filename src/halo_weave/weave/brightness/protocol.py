"""What every scorer of brightness can do.

A scorer holds no memory of a context. What it knows of each token is a column of float32 in an array that belongs to
the window, which saves, restores, cuts and joins it; row 0 is the brightness. A chunk is as bright as its brightest
token, and only the order of the chunks of one context counts, so the numbers of two scorers need not mean the same.
"""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

NEW_BRIGHTNESS = 10_000.0
"""Of new tokens and of what a user brings back, whatever the scorer: what is unproven is not buried yet."""

State = NDArray[np.float32]


class Sight(NamedTuple):
    """What the model looked at in one step: an entry for each token of the context as it was then.

    Token i of n stands n − i tokens away from the token that looked. `scored` is False for the system prompt, for
    frames and, by the setting, for the current turn.
    """

    attention: NDArray[np.float32]
    scored: NDArray[np.bool_]


class Scorer(Protocol):
    """A scorer keeps buffers from step to step, so one belongs to one thread at a time."""

    @property
    def name(self) -> str: ...

    @property
    def lanes(self) -> int:
        """Rows of state."""
        ...

    def fresh(self, count: int) -> State:
        """The state of new tokens: bright until they had a chance to be looked at."""
        ...

    def revived(self, count: int, brightness: float) -> State:
        """The state of tokens that come back with a given brightness and have to prove themselves from there."""
        ...

    def observe(self, state: State, sight: Sight) -> None:
        """Change the state by one step, in place. Column i belongs to entry i of the sight.

        Columns that are not scored, and the sink's, stay as they are. The attention must have passed `problem`; a sight
        of another length than the state is a ValueError and changes nothing.
        """
        ...
