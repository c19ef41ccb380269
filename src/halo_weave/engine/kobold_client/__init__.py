"""An engine on a server that speaks the Kobold protocol."""

from halo_weave.engine.kobold_client.client import KoboldEngine
from halo_weave.engine.kobold_client.connection import Timeouts
from halo_weave.engine.kobold_client.context import KoboldContext

__all__ = ["KoboldContext", "KoboldEngine", "Timeouts"]
