"""One context: which tokens are bright, which chunks leave, which return, and how they become what the model sees.

Plans (`pruning`, `resurrection`, `restraint`) are pure functions whose results carry their reasons; a session carries
them out. `brightness` has one scorer per module.
"""

from halo_weave.weave.captured import Captured
from halo_weave.weave.context import Context, LiveChunk
from halo_weave.weave.layout import Layout, lay_out
from halo_weave.weave.pruning import PruningPlan
from halo_weave.weave.resurrection import Candidate, ResurrectionPlan, universal_budget
from halo_weave.weave.settings import WeaveSettings

__all__ = [
    "Candidate",
    "Captured",
    "Context",
    "Layout",
    "LiveChunk",
    "PruningPlan",
    "ResurrectionPlan",
    "WeaveSettings",
    "lay_out",
    "universal_budget",
]
