"""Requests the next message of a conversation from a server."""

import re
from collections.abc import Generator
from typing import Any

from halo_weave.engine.cancellation import Cancellation
from halo_weave.engine.openai_client.connection import OpenAIConnection, Refused
from halo_weave.engine.openai_client.messages import Conversation
from halo_weave.engine.openai_client.wire import END_OF_STREAM, Delta, StreamError, read_delta, request_body
from halo_weave.engine.protocol import GenerationSettings
from halo_weave.errors import ContextTooLarge, EngineProtocolError, EngineUnavailable, InputError
from halo_weave.text.server_sent_events import all_events

_PATH = "/v1/chat/completions"
_TOO_LARGE_FOR_LLAMA_SERVER = "exceed_context_size_error"
_TOO_LARGE_FOR_VLLM = re.compile(r"maximum context length (?:is|of) (\d+)")


class ChatRequests:
    def __init__(self, connection: OpenAIConnection, model: str) -> None:
        self._connection = connection
        self._model = model
        self._is_strict = False
        self.skipped_events = 0
        """Number of malformed events from the server."""

    def answer(
        self, conversation: Conversation, settings: GenerationSettings, max_tokens: int, cancellation: Cancellation
    ) -> Generator[Delta, None, None]:
        """Yield the answer in pieces; it simply ends if cancelled.

        If the server refuses the request, it is sent again without the fields that a strict server may refuse. If that
        works, all later requests are sent this way.
        """
        if not conversation.messages:
            raise InputError("The context has no message yet; there is nothing to answer.")
        for is_strict in [True] if self._is_strict else [False, True]:
            body = request_body(conversation, settings, model=self._model, max_tokens=max_tokens, strict=is_strict)
            try:
                for delta in self._stream(body, cancellation):
                    self._is_strict = is_strict
                    yield delta
                return
            except Refused as refused:
                if too_large := _too_large(refused):
                    raise too_large from refused
                if is_strict or refused.status not in (400, 422):
                    raise
            except EngineUnavailable:
                if cancellation.is_cancelled:
                    return
                raise

    def _stream(self, body: dict[str, Any], cancellation: Cancellation) -> Generator[Delta, None, None]:
        finished = False
        with self._connection.stream(_PATH, body, cancellation) as received:
            for event in all_events(received):
                data = event.decode(errors="replace")
                if data == END_OF_STREAM or cancellation.is_cancelled:
                    return
                delta = self._read(data)
                finished = finished or bool(delta.finish)
                yield delta
        if not finished:
            raise EngineUnavailable(f"The model server at {self._connection.url} ended its answer early.")

    def _read(self, data: str) -> Delta:
        try:
            delta = read_delta(data)
        except StreamError as error:
            raise EngineProtocolError(
                f"The model server at {self._connection.url} stopped its answer: {error}."
            ) from error
        if delta is None:
            self.skipped_events += 1
            return Delta("", "")
        return delta


def _too_large(refused: Refused) -> ContextTooLarge | None:
    """Return the error for a context that is too large, with the server's counts, which include the model's marks."""
    if refused.details.get("type") == _TOO_LARGE_FOR_LLAMA_SERVER:
        wanted, usable = refused.details.get("n_prompt_tokens"), refused.details.get("n_ctx")
        if isinstance(wanted, int) and isinstance(usable, int):
            return ContextTooLarge(wanted, usable)
    if found := _TOO_LARGE_FOR_VLLM.search(refused.complaint):
        usable = int(found[1])
        counts = [int(number) for number in re.findall(r"\d+", refused.complaint)]
        return ContextTooLarge(max(counts), usable)
    return None
