"""A conversation without memory: turns in one engine context; the oldest exchanges make room when it is full."""

import itertools
import threading
from collections.abc import Callable, Iterable, Iterator

from halo_weave.engine import turns
from halo_weave.engine.protocol import Engine, FinishReason, GenerationSettings, Placed, Token
from halo_weave.errors import EngineStopped, InputError


class Conversation:
    """`notify` is told, in a sentence, when exchanges are dropped. Positions count from 0 and are never reused."""

    def __init__(
        self, engine: Engine, generation: GenerationSettings, system_prompt: str, notify: Callable[[str], None]
    ) -> None:
        self._engine = engine
        self._generation = generation
        self._notify = notify
        self.finish_reason: FinishReason | None = None
        self._is_stopped = threading.Event()
        self._next_position = 0
        self._exchanges: list[list[Placed]] = []
        system = turns.turn_tokens(engine, "system", system_prompt) if system_prompt else []
        self._beginning = self._place([*turns.start_tokens(engine), *system])
        # Nothing here shows attention, so the model need not report it.
        self._context = engine.open_context(attention=None)

    @property
    def tokens(self) -> list[Placed]:
        """The context that the next message will follow."""
        return [*self._beginning, *itertools.chain(*self._exchanges)]

    def ask(self, message: str) -> Iterator[str]:
        """The reply to a message, in pieces of text. An error leaves the conversation as it was before the message."""
        self._is_stopped.clear()
        question = [
            *turns.turn_tokens(self._engine, "user", message),
            *turns.opening_tokens(self._engine, "assistant"),
        ]
        kept = self._exchanges_beside(len(question))
        return self._answer(kept, self._place(question))

    def stop(self) -> None:
        """End the reply under way; may be called from any thread."""
        self._is_stopped.set()
        self._context.stop()

    def close(self) -> None:
        self._context.close()

    def _answer(self, kept: list[list[Placed]], question: list[Placed]) -> Iterator[str]:
        self._context.sync([*self._beginning, *itertools.chain(*kept), *question])
        if self._is_stopped.is_set():
            raise EngineStopped("The reply was stopped before it began.")
        reply: list[Token] = []
        self.finish_reason = "stopped"
        for step in self._context.generate(self._generation):
            if step.token_id is not None:
                reply.append(Token(step.token_id, step.text))
            self.finish_reason = step.finish_reason or self.finish_reason
            if step.text:
                yield step.text
            if self._is_stopped.is_set():
                self._context.stop()  # again, because the first may have come before there was anything to stop
        closed = turns.closed_reply(self._engine, reply, self.finish_reason)
        self._exchanges = [*kept, [*question, *self._place(closed)]]

    def _place(self, tokens: Iterable[Token]) -> list[Placed]:
        placed = [Placed(position, token.id) for position, token in enumerate(tokens, self._next_position)]
        self._next_position += len(placed)
        return placed

    def _exchanges_beside(self, question_tokens: int) -> list[list[Placed]]:
        """The latest exchanges that fit the context together with a question and the longest reply."""
        usable = self._engine.facts.usable_context
        room = usable - len(self._beginning) - question_tokens - self._generation.max_tokens
        if room < 0:
            raise InputError(
                f"The message does not fit: it takes {question_tokens} tokens, the system prompt "
                f"{len(self._beginning)}, the reply up to {self._generation.max_tokens}, and the context has {usable}; "
                "shorten it, or change --max-tokens or --context."
            )
        kept = list(self._exchanges)
        while sum(map(len, kept)) > room:
            kept.pop(0)
        if dropped := len(self._exchanges) - len(kept):
            self._notify(f"The context is full: {dropped} of the oldest exchanges left it.")
        return kept
