"""The Kobold protocol with attention: a client here, and a server in `server`."""

from halo_weave.engine.kobold.client import KoboldEngine
from halo_weave.engine.kobold.connection import Timeouts
from halo_weave.engine.kobold.context import KoboldContext

__all__ = ["KoboldContext", "KoboldEngine", "Timeouts"]
