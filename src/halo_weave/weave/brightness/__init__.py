"""Brightness: how much of the model's attention each token of a context has earned."""

from halo_weave.weave.brightness.choosing import make_scorer
from halo_weave.weave.brightness.protocol import NEW_BRIGHTNESS, Scorer, Sight, State
from halo_weave.weave.brightness.settings import ScorerName, ScorerSettings
from halo_weave.weave.brightness.validation import problem

__all__ = ["NEW_BRIGHTNESS", "Scorer", "ScorerName", "ScorerSettings", "Sight", "State", "make_scorer", "problem"]
