"""The client's connection to a Kobold server: maps its error responses and aborts a request by id."""

from contextlib import suppress

import httpx2
import msgspec

from halo_weave.engine.kobold_protocol.wire import AbortRequest, ErrorDetail, WireError
from halo_weave.engine.server_connection import NOT_READABLE, ServerConnection
from halo_weave.errors import ContextTooLarge, EngineProtocolError, EngineStopped, HaloError, InputError

_ABORT_S = 2.0


class Timeouts(msgspec.Struct, frozen=True):
    """Timeouts in seconds: to connect, to tokenize, for a sync or preview, and between two pieces of a stream."""

    connect_s: float = 5.0
    tokenize_s: float = 5.0
    sync_s: float = 600.0
    between_tokens_s: float = 120.0


class ContextGone(EngineProtocolError):
    """The server no longer has the context."""


class RevisionUnknown(EngineProtocolError):
    """The server's context is at another revision than ours."""


class Connection(ServerConnection):
    def __init__(self, url: str, timeouts: Timeouts, api_key: str = "") -> None:
        super().__init__(
            url,
            api_key,
            answer_s=timeouts.tokenize_s,
            silence_s=timeouts.between_tokens_s,
            connect_s=timeouts.connect_s,
        )
        self.timeouts = timeouts

    def abort(self, request_id: str) -> None:
        """Ask the server to abort a request. Errors are ignored: a server that cannot be asked has nothing to abort."""
        with suppress(HaloError):
            self.post("/api/extra/abort", AbortRequest(request_id, request_id), object, timeout_s=_ABORT_S)

    def error_of(self, detail: ErrorDetail, status: int) -> HaloError:
        """Return the exception for an error that the server reported."""
        if detail.kind == "too_large" and detail.wanted_tokens is not None and detail.usable_tokens is not None:
            return ContextTooLarge(detail.wanted_tokens, detail.usable_tokens)
        message = self._answered(status, detail.msg)
        match detail.kind:
            case "no_context":
                return ContextGone(message)
            case "revision":
                return RevisionUnknown(message)
            case "stopped":
                return EngineStopped(message)
            case "input":
                return InputError(message)
        return EngineProtocolError(message)

    def _refusal(self, response: httpx2.Response) -> HaloError:
        try:
            detail = msgspec.json.decode(response.content, type=WireError).detail
        except NOT_READABLE:
            detail = ErrorDetail(response.text.strip() or response.reason_phrase)
        return self.error_of(detail, response.status_code)
