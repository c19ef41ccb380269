"""Reads a chat with the model, with attention where a policy needs it and otherwise only counting tokens.

A given reply is read as if the model wrote it: the attention of a token that is read is the one with which the model
would have chosen the next.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from halo_weave.bench.policies.counted_rows import CountedRows
from halo_weave.engine.llamacpp.context import LlamaContext
from halo_weave.engine.protocol import Placed
from halo_weave.errors import InputError
from halo_weave.records.tokens import Token
from halo_weave.session.window.window import Window
from halo_weave.weave.brightness.protocol import State
from halo_weave.weave.brightness_tracker import BrightnessTracker
from halo_weave.weave.layout import Layout, OpenTurn


class Read(NamedTuple):
    """A turn's cost in decoded tokens, and the state of the reply's tokens if attention was recorded."""

    decoded: int
    state: State | None


class Reader:
    def __init__(self, window: Window, *, attentive: bool) -> None:
        self._window = window
        self._attentive = attentive
        self._rows = CountedRows()

    def read(self, layout: Layout, opened: OpenTurn | None, words: Sequence[Token]) -> Read:
        """Read a context and the tokens of the reply that follows it."""
        places = [] if opened is None else [layout.place_of(opened, opened.turn_start + n) for n in range(len(words))]
        reply = [Placed(place, word.id) for place, word in zip(places, words, strict=True)]
        if self._attentive:
            return self._read_with_attention(layout, reply, words)
        return Read(self._rows.decoded([*layout.placed, *reply]), None)

    def keeps(self, token: Placed) -> bool:
        """Return whether a token that left the context would return by a copy."""
        return self._window.engine_context.keeps(token) if self._attentive else self._rows.keeps(token)

    def _read_with_attention(self, layout: Layout, reply: list[Placed], words: Sequence[Token]) -> Read:
        window, context = self._window, self._window.engine_context
        if not reply:
            return Read(context.sync(layout.placed).decoded, None)
        immune = window.settings.weave.current_turn_immune
        shining = BrightnessTracker(
            window.scorer,
            layout,
            current=window.life.current if immune else (),
            room=len(words),
            scores_new=not immune,
        )
        before = context.sync(layout.placed[:-1])
        report = context.sync([*layout.placed, *reply[:-1]], observe=True)
        if report.reading is None or len(report.reading) < len(words):
            raise InputError("The model reports no attention to measure.")
        for number, row in enumerate(report.reading[-len(words) :]):
            shining.observe(np.ascontiguousarray(row[: len(layout.placed) + number]))
            shining.add()
        if shining.malformed:
            raise InputError(f"The model's attention is not valid: {shining.last_problem}.")
        shining.settle()
        # The reply's last token is decoded with the next turn.
        return Read(before.decoded + report.decoded, shining.new_state())


def behind(placed: Sequence[Placed], tokens: Sequence[Token]) -> list[Placed]:
    """Return the context continued with these tokens."""
    first = placed[-1].position + 1 if placed else 0
    return [*placed, *(Placed(first + place, token.id) for place, token in enumerate(tokens))]


def expectation(context: LlamaContext, tokens: Sequence[Placed], answer: Sequence[Token], *, clean: bool) -> float:
    """Return the mean log probability of the answer's tokens after these tokens."""
    context.sync(tokens, clean=clean)
    return float(context.log_probabilities([token.id for token in answer]).mean())
