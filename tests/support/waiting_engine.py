"""Echo engines whose replies wait: until cancelled, so that a lost stop fails the test, or until a gate opens."""

import threading
from collections.abc import Iterator
from typing import Any

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


class GatedEngine(EchoEngine):
    """Replies go on after their first steps only while `gate` is set, as it is at first."""

    STEPS = 8

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.gate = threading.Event()
        self.gate.set()

    def open_context(self, *, attention: AttentionChoice | None = AttentionChoice()) -> "GatedContext":  # noqa: B008
        return GatedContext(self, attention, fading_attention, 0.0, gate=self.gate)


class GatedContext(EchoContext):
    def __init__(self, *arguments: Any, gate: threading.Event) -> None:
        super().__init__(*arguments)
        self._gate = gate

    def generate(
        self,
        settings: GenerationSettings,
        positions: Iterator[int] | None = None,
        *,
        cancellation: Cancellation | None = None,
    ) -> Iterator[Step]:
        for place, step in enumerate(super().generate(settings, positions, cancellation=cancellation)):
            if place == GatedEngine.STEPS:
                assert self._gate.wait(PATIENCE_S), "The gate was never opened."
            yield step
