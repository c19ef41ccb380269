"""Tool calls in a reply: detected while the model writes, run, and answered within the same turn.

A call counts once its closing tag is written; an unclosed call is plain text. The result follows the call in its own
chunks, which metadata marks as the tool's, so that the source of a text never has to be guessed from the text itself.
Once the limit of calls is reached, the next call gets an error as its result, and later ones are not detected.
"""

import threading
import time as clocks
from collections.abc import Callable, Sequence
from typing import Any

from halo_weave.engine.cancellation import Cancellation
from halo_weave.engine.protocol import Engine
from halo_weave.records.tokens import Token
from halo_weave.session.turn.repeated_calls import is_repeated
from halo_weave.session.turn.tool_context import weave_in
from halo_weave.session.turn.turn_state import TurnState
from halo_weave.session.turn.writing import write_alive
from halo_weave.session.window.chunk_json import chunk_to_json
from halo_weave.session.window.reviving import TOOL
from halo_weave.session.window.tool_calls import NOTED_CHARACTERS
from halo_weave.session.window.words import ChunkSizes, Positions, placed
from halo_weave.system.background import BackgroundThread
from halo_weave.tools.calls.tags import FoundCall, TagParser
from halo_weave.tools.registry import Called, Toolbox
from halo_weave.tools.tool import Asker, as_json, failed

CALL_TIMEOUT_S = 10.0
_SHOWN_COMMAND = 80
_LEAST_RESULT = 16
_LONGEST_TOKEN = 32


class ToolRounds:
    """The tool calls of one reply. Without a toolbox, or with tools switched off, none are detected."""

    def __init__(self, turn: TurnState) -> None:
        window = self._window = turn.window
        self._turn = turn
        self._settings = window.settings.tools
        self._toolbox: Toolbox | None = window.toolbox if self._settings.is_on else None
        self._calls: list[FoundCall] = []
        self._count = 0
        self._parser = TagParser()
        for chunk in window.life.context.of_turn(turn.assistant):
            self._parser.push("\n" if TOOL in chunk.marks else chunk.text)

    def hear(self, text: str) -> bool:
        """Parse text that the model wrote; True if the model must wait for the result of a call."""
        if self._toolbox is None or self._count > self._settings.rounds:
            return False
        self._calls += [call for call in self._parser.push(text) if not self._is_repeated(call)]
        return bool(self._calls)

    def _is_repeated(self, call: FoundCall) -> bool:
        with self._window.life.lock:
            is_so = is_repeated(call, self._window.life.context, TOOL)
        if is_so:
            command = _short(" ".join(call.text.split()))
            words = f"The call “{command}” was not run because the model only repeats it."
            self._window.log.tell("notice", text=words)
        return is_so

    @property
    def is_open(self) -> bool:
        """Whether a call was opened but not closed."""
        return self._toolbox is not None and self._parser.is_open

    def carry_out(self) -> None:
        """Run the detected calls, and append their results."""
        calls, self._calls = self._calls, []
        for call in calls:
            if self._turn.cancellation.is_cancelled:
                return
            self._count += 1
            started = clocks.perf_counter()
            called = self._called(call)
            self._add_result(call, called, clocks.perf_counter() - started)
        self._parser.push("\n")

    def _called(self, call: FoundCall) -> Called:
        toolbox, window, limit = self._toolbox, self._window, self._settings.rounds
        assert toolbox is not None
        if self._count > limit:
            return Called(None, failed(f"at most {limit} tool calls per reply; continue without"))
        window.log.tell("status", text="calling a tool")
        asker = Asker(f"window {window.name}", self._turn.user.turn, self._turn.assistant.turn)
        return _within(CALL_TIMEOUT_S, self._turn.cancellation, lambda: toolbox.call(call.text, asker))

    def _add_result(self, call: FoundCall, called: Called, seconds: float) -> None:
        window, turn, outcome = self._window, self._turn, called.outcome
        command = " ".join(call.text.split())
        most = self._most_tokens()
        line = outcome.line[: most * _LONGEST_TOKEN]  # tokenising the rest, which is cut off anyway, would waste time
        tokens = _result_tokens(window.engine, f"⚙️【{_short(command)}】→ {line}\n", most)
        told = {
            "name": called.asked.name if called.asked else "",
            "command": command[:NOTED_CHARACTERS],
            "arguments": _noted(called.asked.arguments if called.asked else None),
            "is_error": outcome.is_error,
            "seconds": round(seconds, 3),
        }
        positions = Positions(window.memory, turn.newest.free_from, turn.newest.free_to)
        words = placed(tokens, positions)
        self._turn.journal.add_marked(words, {TOOL: told})
        whole = ChunkSizes(min_tokens=max(1, len(words)), max_tokens=0)
        living = write_alive(turn, words, {TOOL: told}, sizes=whole)
        window.use_positions(positions, len(words))
        with window.life.lock:
            window.life.add(living)
            entry = {**told, "result": outcome.line[:NOTED_CHARACTERS], "time": window.clock().isoformat()}
            window.note_tool_call(entry)
            window.log.tell("tool", **entry, chunks=[chunk_to_json(chunk) for chunk in living])
        turn.said.append("".join(token.text for token in tokens))
        if outcome.woven:
            weave_in(window, outcome.woven, outcome.cause, reserved=turn.tokens_reserved())
        window.save()

    def _most_tokens(self) -> int:
        """The size limit of a result, which must leave space for the exchange itself and for the model's response."""
        window = self._window
        held = sum(len(chunk.tokens) for chunk in window.life.context if chunk.turn in window.life.current)
        room = window.usable_tokens - len(window.life.frames.beginning) - held
        return max(_LEAST_RESULT, min(self._settings.result_tokens, room // 3))


def _within(seconds: float, cancellation: Cancellation, work: Callable[[], Called]) -> Called:
    """The result of the work, or an error if it times out or the reply is stopped; the work then ends on its own."""
    results: list[Called] = []
    is_over = threading.Event()

    def run() -> None:
        try:
            results.append(work())
        finally:
            is_over.set()

    if cancellation.is_cancelled:
        return Called(None, failed("stopped"))
    with cancellation.on_cancel(is_over.set):
        BackgroundThread("tool", run).start()
        is_in_time = is_over.wait(seconds)
    if results:
        return results[0]
    if cancellation.is_cancelled:
        return Called(None, failed("stopped"))
    problem = "internal error in the tool; see the log for details" if is_in_time else f"timed out after {seconds:g} s"
    return Called(None, failed(problem))


def _result_tokens(engine: Engine, text: str, most: int) -> Sequence[Token]:
    tokens = engine.tokenize(text)
    if len(tokens) <= most:
        return tokens
    ending = engine.tokenize(" …\n")
    kept = tokens[: max(1, most - len(ending))]
    while kept and not kept[-1].text:  # part of a character
        kept = kept[:-1]
    return [*kept, *ending]


def _short(command: str) -> str:
    return command if len(command) <= _SHOWN_COMMAND else command[: _SHOWN_COMMAND - 1] + "…"


def _noted(arguments: dict[str, Any] | None) -> dict[str, Any] | None:
    """A call's arguments as they are recorded, shortened if they are long."""
    is_small = arguments is None or len(as_json(arguments)) <= NOTED_CHARACTERS
    return arguments if is_small else {"…": as_json(arguments)[:NOTED_CHARACTERS]}
