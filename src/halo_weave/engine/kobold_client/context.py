"""The base class of Kobold contexts, whatever their server can do."""

import uuid
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from halo_weave.engine.cancellation import Cancellation, linked
from halo_weave.engine.difference import require_order
from halo_weave.engine.kobold_client.connection import Connection
from halo_weave.engine.kobold_protocol.attention_codec import UnusableAttention, decode_attention
from halo_weave.engine.protocol import (
    Attention,
    AttentionChoice,
    GenerationSettings,
    ModelFacts,
    OnRead,
    Placed,
    Step,
    SyncReport,
)
from halo_weave.errors import ContextTooLarge, EngineError, InputError
from halo_weave.records.tokens import Token


class SkippedAttention:
    """Counts unusable attention and unreadable events by reason."""

    def __init__(self) -> None:
        self.attention: Counter[str] = Counter()
        self.events: Counter[str] = Counter()


class RunningRequest(NamedTuple):
    """A call in progress: its id on the server, and its cancellation."""

    request_id: str
    cancellation: Cancellation


class KoboldContext(ABC):
    """Holds the wanted context and brings the server up to date when a reply is wanted.

    A sync or generation that fails or is cancelled leaves the earlier context and all yielded tokens in place.
    """

    def __init__(
        self, connection: Connection, facts: ModelFacts, attention: AttentionChoice | None, skipped: SkippedAttention
    ) -> None:
        self._connection = connection
        self._facts = facts
        self._attention = attention
        self._skipped = skipped
        self._tokens: list[Placed] = []
        self._closing = Cancellation()

    @property
    def tokens(self) -> list[Placed]:
        return list(self._tokens)

    @abstractmethod
    def sync(
        self,
        tokens: Sequence[Placed],
        *,
        clean: bool = False,
        observe: bool = False,
        cancellation: Cancellation | None = None,
        on_read: OnRead | None = None,
    ) -> SyncReport: ...

    @abstractmethod
    def preview(
        self, token_ids: Sequence[int], count: int, *, cancellation: Cancellation | None = None
    ) -> list[Token]: ...

    def generate(
        self,
        settings: GenerationSettings,
        positions: Iterator[int] | None = None,
        *,
        cancellation: Cancellation | None = None,
    ) -> Iterator[Step]:
        self._require_open()
        if not self._tokens:
            raise InputError("The context is empty; there is nothing to continue.")
        return self._generate(settings, positions, cancellation)

    def keeps(self, token: Placed) -> bool:  # noqa: ARG002
        return False

    def close(self) -> None:
        self._closing.cancel()

    @abstractmethod
    def _generate(
        self, settings: GenerationSettings, positions: Iterator[int] | None, cancellation: Cancellation | None
    ) -> Iterator[Step]: ...

    @contextmanager
    def _working(self, cancellation: Cancellation | None) -> Iterator[RunningRequest]:
        """Start a call that ends when the caller cancels it or the context is closed."""
        with linked(cancellation, self._closing) as ended, self._asking(ended) as work:
            yield work

    @contextmanager
    def _asking(self, ended: Cancellation) -> Iterator[RunningRequest]:
        """Start a call that is aborted on the server when cancelled. Raises EngineStopped if already cancelled."""
        ended.require_going_on("The request")
        work = RunningRequest(uuid.uuid4().hex, ended)
        with ended.on_cancel(lambda: self._connection.abort(work.request_id)):
            yield work

    def _checked(self, tokens: Sequence[Placed]) -> list[Placed]:
        """Return the wanted context after checking it, before anything is sent."""
        self._require_open()
        wanted = [Placed(*token) for token in tokens]
        require_order(wanted)
        self._require_room(len(wanted))
        return wanted

    def _require_room(self, tokens: int) -> None:
        if tokens > self._facts.usable_context:
            raise ContextTooLarge(tokens, self._facts.usable_context)

    def _require_open(self) -> None:
        if self._closing.is_cancelled:
            raise EngineError("The context is closed.")

    def _read_attention(self, payload: object, tokens: int, *, is_chosen: bool) -> Attention | None:
        if self._attention is None:
            return None
        try:
            return decode_attention(payload, tokens, self._attention, is_chosen=is_chosen)
        except UnusableAttention as error:
            self._skipped.attention[error.reason] += 1
            return None


def take_position(positions: Iterator[int] | None, tokens: Sequence[Placed]) -> int:
    """Return the position of the next generated token."""
    if positions is None:
        return tokens[-1].position + 1
    position = next(positions, None)
    if position is None:
        raise InputError("There are not enough positions for the reply; pass as many as the longest reply has tokens.")
    return position
