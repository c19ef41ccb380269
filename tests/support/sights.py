"""Made-up attention steps, and every scorer with settings that make its effect visible in a few tokens and steps."""

from typing import get_args

import numpy as np
from numpy.typing import ArrayLike

from halo_weave.weave.brightness import Scorer, ScorerName, ScorerSettings, Sight, make_scorer
from halo_weave.weave.brightness.cumulative import Cumulative
from halo_weave.weave.brightness.sink import Sink

SCORERS: tuple[ScorerName, ...] = get_args(ScorerName)


def small_scorer(name: ScorerName, sink: Sink = "first_token") -> Scorer:
    if name == "cumulative":
        return Cumulative(sink, half_life=20, half_weight_distance=4)
    return make_scorer(ScorerSettings(scorer=name, sink=sink))


def sight(attention: ArrayLike, *, scored: ArrayLike = True) -> Sight:
    """Return a step in which every token is scored by default."""
    row = np.asarray(attention, dtype=np.float32)
    return Sight(row, np.array(np.broadcast_to(np.asarray(scored, dtype=np.bool_), row.shape)))


def random_sight(chance: np.random.Generator, tokens: int) -> Sight:
    """Return very uneven attention that sums to 1, with a sink, a prompt and some unscored tokens."""
    attention = chance.lognormal(sigma=2, size=tokens)
    attention[0] += attention.sum() / 3
    scored = (np.arange(tokens) >= tokens // 8) & (chance.random(tokens) < 0.9)
    return sight(attention / attention.sum(), scored=scored)
