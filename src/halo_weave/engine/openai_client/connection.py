"""Connection to an OpenAI-compatible server: accepts an address with or without /v1 and reads its error responses."""

from typing import Any

import httpx2
import msgspec

from halo_weave.engine.server_connection import LONGEST_QUOTE, NOT_READABLE, ServerConnection
from halo_weave.errors import EngineProtocolError, EngineUnavailable

_ANSWER_S = 5.0


class Refused(EngineProtocolError):
    """The server refused a request."""

    def __init__(self, message: str, status: int, complaint: str, details: dict[str, Any]) -> None:
        super().__init__(message)
        self.status = status
        self.complaint = complaint
        self.details = details


class OpenAIConnection(ServerConnection):
    """`timeout_s` is the longest gap between two pieces of a streamed answer."""

    def __init__(self, url: str, api_key: str = "", *, timeout_s: float = 600.0) -> None:
        super().__init__(url, api_key, answer_s=_ANSWER_S, silence_s=timeout_s)
        self._address = self._address.removesuffix("/v1").rstrip("/")

    def _refusal(self, response: httpx2.Response) -> EngineUnavailable | Refused:
        status = response.status_code
        details = _error_details(response)
        complaint = str(details.get("message") or response.reason_phrase)[:LONGEST_QUOTE]
        message = self._answered(status, complaint)
        return EngineUnavailable(message) if status >= 500 else Refused(message, status, complaint, details)


def _error_details(response: httpx2.Response) -> dict[str, Any]:
    """Return the server's error details, which may be inside `error`, at the top level, or plain text."""
    try:
        answer = msgspec.json.decode(response.content)
    except NOT_READABLE:
        return {"message": response.text.strip()}
    wrapped = answer.get("error", answer) if isinstance(answer, dict) else answer
    return wrapped if isinstance(wrapped, dict) else {"message": str(wrapped)}
