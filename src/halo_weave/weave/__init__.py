"""The context of one window: token brightness, plans of what stays, returns and leaves, and the model's layout.

The planners (`composing`, `pruning`, `resurrection`) are pure functions whose results give their reasons; a session
carries the plans out. `brightness` has one scorer per module.
"""

from halo_weave.weave.captured import Captured
from halo_weave.weave.composing import ContextPlan
from halo_weave.weave.context import Context, LiveChunk
from halo_weave.weave.layout import Layout, lay_out
from halo_weave.weave.pruning import PruningPlan
from halo_weave.weave.resurrection import Candidate, ResurrectionPlan
from halo_weave.weave.settings import WeaveSettings

__all__ = [
    "Candidate",
    "Captured",
    "Context",
    "ContextPlan",
    "Layout",
    "LiveChunk",
    "PruningPlan",
    "ResurrectionPlan",
    "WeaveSettings",
    "lay_out",
]
