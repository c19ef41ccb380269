"""Creates the scorer that the settings name."""

from halo_weave.weave.brightness.cumulative import Cumulative
from halo_weave.weave.brightness.magnitude_v3 import MagnitudeV3
from halo_weave.weave.brightness.protocol import Scorer
from halo_weave.weave.brightness.settings import ScorerSettings


def make_scorer(settings: ScorerSettings) -> Scorer:
    match settings.scorer:
        case "magnitude_v3":
            return MagnitudeV3(settings.sink)
        case "cumulative":
            return Cumulative(settings.sink)
