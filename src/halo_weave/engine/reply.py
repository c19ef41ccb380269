"""Turns a model's raw tokens into the steps that a caller sees.

All engines share this code for whole characters, stop strings, the maximum length and cancellation.
"""

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from halo_weave.engine.cancellation import Cancellation
from halo_weave.engine.protocol import Attention, GenerationSettings, Step
from halo_weave.text.characters import CharacterStream
from halo_weave.text.stop_strings import StopFinder


class RawStep(NamedTuple):
    token_id: int
    piece: bytes
    attention: Attention | None
    ends: bool
    """The token marks the end of the model's turn; it has no text."""


def shape_reply(raw: Iterator[RawStep], settings: GenerationSettings, cancellation: Cancellation) -> Iterator[Step]:
    """Yield the steps of a reply. `raw` ends when the context is full."""
    characters = CharacterStream()
    held = _HeldSteps(settings.stop)
    for number in range(1, settings.max_tokens + 1):
        raw_step = None if cancellation.is_cancelled else next(raw, None)
        if raw_step is None or cancellation.is_cancelled:
            yield from held.release_all()
            yield Step(None, characters.finish(), None, "stopped" if cancellation.is_cancelled else "length")
            return
        if raw_step.ends:
            yield from held.release_all()
            yield Step(raw_step.token_id, characters.finish(), raw_step.attention, "end")
            return
        text = characters.push(raw_step.piece)
        is_last = number == settings.max_tokens
        if is_last:
            text += characters.finish()
        released, stopped = held.push(Step(raw_step.token_id, text, raw_step.attention))
        if is_last and not stopped:
            *released, last = [*released, *held.release_all()]
            yield from released
            yield last._replace(finish_reason="length")
            return
        yield from released
        if stopped:
            yield Step(None, "", None, "stop_string")
            return


class _HeldSteps:
    """Holds steps back while their text may be part of a stop string."""

    def __init__(self, stop: tuple[str, ...]) -> None:
        self._finder = StopFinder(stop)
        self._held: deque[Step] = deque()
        self._shown = 0

    def push(self, step: Step) -> tuple[list[Step], bool]:
        """Add a step; return the steps that can be shown now and whether a stop string matched."""
        self._held.append(step)
        visible, stopped = self._finder.push(step.text)
        released = []
        while (
            self._held and self._shown + len(self._held[0].text) <= visible and not (stopped and self._shown == visible)
        ):
            released.append(self._held.popleft())
            self._shown += len(released[-1].text)
        if stopped and self._held and visible > self._shown:
            split = self._held.popleft()
            released.append(split._replace(text=split.text[: visible - self._shown]))
        return released, stopped

    def release_all(self) -> list[Step]:
        released = list(self._held)
        self._held.clear()
        return released
