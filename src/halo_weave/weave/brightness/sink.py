"""The sink: the token on which a model rests its eyes when nothing interests it, up to 40 % of all attention.

It is never scored, and what it takes is left out when the rest is compared with an even share.
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from halo_weave.weave.brightness.protocol import Sight
from halo_weave.weave.brightness.scratch import Scratch

Sink = Literal["first_token", "largest_entry"]


class WithoutSink:
    """Looks at a step without its sink."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._scratch = Scratch(np.bool_)

    def of(self, sight: Sight) -> tuple[float, NDArray[np.bool_]]:
        """An even share of the rest, and what is scored; the latter lives until the next call.

        The share is (1 − sink) / (n − 1), or 0 if the sink took everything.
        """
        (scored,) = self._scratch.of(len(sight.scored))
        if not len(scored):
            return 0.0, scored
        place = 0 if self._sink == "first_token" else int(sight.attention.argmax())
        np.copyto(scored, sight.scored)
        scored[place] = False
        rest = max(0.0, 1.0 - float(sight.attention[place]))
        return rest / max(1, len(scored) - 1), scored
