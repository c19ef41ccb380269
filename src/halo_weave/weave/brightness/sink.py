"""The attention sink: the token that receives up to 40 % of all attention when the model attends to nothing else.

The sink is never scored, and its attention is excluded from the even share that other tokens are compared with.
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from halo_weave.weave.brightness.protocol import Sight
from halo_weave.weave.brightness.scratch import Scratch

Sink = Literal["first_token", "largest_entry"]


class WithoutSink:
    """Computes a step's even share and scored tokens without the sink."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._scratch = Scratch(np.bool_)

    def of(self, sight: Sight) -> tuple[float, NDArray[np.bool_]]:
        """An even share of the remaining attention, and a mask of the scored tokens that is valid until the next call.

        The share is (1 − sink) / (n − 1), or 0 if the sink received everything.
        """
        (scored,) = self._scratch.of(len(sight.scored))
        if not len(scored):
            return 0.0, scored
        place = 0 if self._sink == "first_token" else int(sight.attention.argmax())
        np.copyto(scored, sight.scored)
        scored[place] = False
        rest = max(0.0, 1.0 - float(sight.attention[place]))
        return rest / max(1, len(scored) - 1), scored
