"""An echo engine whose replies end only when cancelled: a lost stop fails the test."""

from collections.abc import Iterator

from halo_weave.engine.cancellation import Cancellation
from halo_weave.engine.echo import EchoContext, EchoEngine, fading_attention
from halo_weave.engine.protocol import AttentionChoice, GenerationSettings, Step

PATIENCE_S = 60.0


class WaitingEngine(EchoEngine):
    """Each reply waits after its first step."""

    def open_context(self, *, attention: AttentionChoice | None = AttentionChoice()) -> "WaitingContext":  # noqa: B008
        return WaitingContext(self, attention, fading_attention, 0.0)


class WaitingContext(EchoContext):
    def generate(
        self,
        settings: GenerationSettings,
        positions: Iterator[int] | None = None,
        *,
        cancellation: Cancellation | None = None,
    ) -> Iterator[Step]:
        steps = super().generate(settings, positions, cancellation=cancellation)
        yield next(steps)
        assert cancellation is not None
        assert cancellation.wait(PATIENCE_S), "The stop was lost."
        yield from steps
