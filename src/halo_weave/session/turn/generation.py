"""Runs the model, and shows, scores and journals each step."""

import time as clocks
from base64 import b64encode
from collections.abc import Callable, Iterator
from typing import Any, Literal

import msgspec

from halo_weave.engine.cancellation import linked
from halo_weave.engine.protocol import FinishReason, Step
from halo_weave.errors import EngineError, EngineStopped
from halo_weave.records.numbers import text_of_number
from halo_weave.records.tokens import Token
from halo_weave.session.turn.reading_progress import ReadingProgress
from halo_weave.session.turn.turn_state import TurnState
from halo_weave.session.window.words import Positions, Word
from halo_weave.weave.brightness_tracker import BrightnessTracker
from halo_weave.weave.layout import Layout, OpenTurn

_DIGEST_EVERY_S = 0.25
Ending = FinishReason | Literal["failed", "interrupted", "tool"]
"""With `tool`, the model waits for the result of a tool call."""


class GeneratedReply:
    """The result of a generation; `failure` is the error that ended it, if any."""

    def __init__(self, ending: Ending = "stopped") -> None:
        self.words: list[Word] = []
        self.ending = ending
        self.failure: EngineError | None = None

    @property
    def text(self) -> str:
        return "".join(word.text for word in self.words)


class Generation:
    """One generation after a layout, which the model reads first."""

    def __init__(
        self,
        turn: TurnState,
        layout: Layout,
        opened: OpenTurn,
        positions: Positions,
        tracker: BrightnessTracker,
        hear: Callable[[str], bool],
    ) -> None:
        """`hear` receives the text of each step and returns whether the model must stop for a tool call."""
        self._turn = turn
        self._window = turn.window
        self._figures = turn.figures
        self._layout = layout
        self._opened = opened
        self._positions = positions
        self._tracker = tracker
        self._hear = hear
        self._digest_at = clocks.perf_counter()
        self.written = GeneratedReply()

    def run(self, max_tokens: int) -> GeneratedReply:
        written, window = self.written, self._window
        settings = msgspec.structs.replace(window.settings.generation, max_tokens=max_tokens)
        is_called = False
        try:
            self._read()
            # A tool call ends this generation but not the turn, hence a linked cancellation.
            with linked(self._turn.cancellation) as ended:
                steps = window.engine_context.generate(settings, self._places(), cancellation=ended)
                for step in self._timed(steps):
                    if is_called:
                        continue  # discard what the engine still produces until it stops
                    is_called = self._take(step)
                    if is_called:
                        ended.cancel()
        except EngineStopped:
            written.ending = "stopped"
        except EngineError as error:
            written.failure, written.ending = error, "failed"
        if is_called and written.failure is None:
            written.ending = "tool"
        self._figures.generated += len(written.words)
        self._figures.malformed += self._tracker.malformed
        self._figures.reply_s = clocks.perf_counter() - self._turn.begun_at
        return written

    def _read(self) -> None:
        window, figures = self._window, self._figures
        self._turn.cancellation.require_going_on("The reply")
        window.log.tell("status", text=f"reading {len(self._layout.placed)} tokens")
        started = clocks.perf_counter()
        progress = ReadingProgress(window.log, clocks.perf_counter)
        report = window.sync(self._layout, self._opened, cancellation=self._turn.cancellation, on_read=progress.show)
        figures.engine_s += clocks.perf_counter() - started
        figures.reading_s += clocks.perf_counter() - started
        figures.context = len(self._layout.placed)
        figures.kept, figures.restored = report.kept, report.restored
        figures.decoded += report.decoded
        self._turn.cancellation.require_going_on("The reply")
        if window.recorder is not None:
            window.recorder.note_context(self._layout)
        window.log.tell("status", text="writing")

    def _places(self) -> Iterator[int]:
        place = 0
        while True:
            yield self._layout.place_of(self._opened, self._positions.at(place))
            place += 1

    def _timed(self, steps: Iterator[Step]) -> Iterator[Step]:
        while True:
            start = clocks.perf_counter()
            step = next(steps, None)
            self._figures.engine_s += clocks.perf_counter() - start
            if step is None:
                return
            yield step

    def _take(self, step: Step) -> bool:
        """Process a step; True if it completes a tool call."""
        window, written = self._window, self.written
        if step.attention is not None or step.token_id is not None:
            self._tracker.observe(step.attention)
        written.ending = step.finish_reason or written.ending
        word: Word | None = None
        # The model's end-of-turn token is dropped: the chat template's closing replaces it.
        if step.token_id is not None and step.finish_reason != "end":
            word = Word(self._positions.at(len(written.words)), step.token_id, step.text)
            if not self._figures.first_token_s:
                self._figures.first_token_s = clocks.perf_counter() - self._turn.begun_at
            with window.life.lock:
                written.words.append(word)
                window.show_word(Token(word.id, word.text))
                self._tracker.add()
                window.log.tell("token", text=word.text, position=text_of_number(word.position))
            self._turn.journal.add(word)
        if window.recorder is not None:
            window.recorder.note_step(word, step.attention)
        if clocks.perf_counter() - self._digest_at >= _DIGEST_EVERY_S:
            self._digest_at = clocks.perf_counter()
            window.log.tell("brightness", **digest(self._tracker))
        return word is not None and self._hear(word.text)


def digest(tracker: BrightnessTracker) -> dict[str, Any]:
    """Brightness and latest attention of all living tokens in order, as base64."""
    return {
        "brightness": b64encode(tracker.word_brightness()).decode(),
        "attention": b64encode(tracker.word_attention()).decode(),
    }
