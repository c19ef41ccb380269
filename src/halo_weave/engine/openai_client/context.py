"""The context of one conversation with a server that does not expose its own.

`sync` only stores the wanted tokens and reports how many the server will have to read, assuming that it has cached the
common beginning. Each generation sends the whole conversation. The reply arrives as text and is tokenized here, so that
each step has its token.
"""

import time
from collections.abc import Iterator, Sequence

from halo_weave.engine.cancellation import Cancellation, linked
from halo_weave.engine.difference import common_prefix, require_order
from halo_weave.engine.openai_client.chat import ChatRequests
from halo_weave.engine.openai_client.codec import Codec, tokens_of
from halo_weave.engine.openai_client.messages import CLOSING, conversation_of
from halo_weave.engine.openai_client.tokenizers import Piece
from halo_weave.engine.openai_client.wire import Delta
from halo_weave.engine.protocol import GenerationSettings, OnRead, Placed, Step, SyncReport
from halo_weave.engine.reply import RawStep, shape_reply
from halo_weave.errors import ContextTooLarge, EngineError, InputError
from halo_weave.records.tokens import Token

# The model's own marks take more tokens than ours, and some templates add sentences of their own. Servers refuse a
# request whose reply would not fit after them.
_MARK_TOKENS = 4
_TEMPLATE_TOKENS = 32


class OpenAIContext:
    def __init__(self, chat: ChatRequests, codec: Codec, usable_tokens: int) -> None:
        self._chat = chat
        self._codec = codec
        self._usable_tokens = usable_tokens
        self._tokens: list[Placed] = []
        self._closing = Cancellation()

    @property
    def tokens(self) -> list[Placed]:
        return list(self._tokens)

    @property
    def skipped_events(self) -> int:
        """Number of malformed events from the server, in all contexts of the engine."""
        return self._chat.skipped_events

    def sync(
        self,
        tokens: Sequence[Placed],
        *,
        clean: bool = False,
        observe: bool = False,  # noqa: ARG002
        cancellation: Cancellation | None = None,
        on_read: OnRead | None = None,  # noqa: ARG002
    ) -> SyncReport:
        started = time.perf_counter()
        self._require_open()
        wanted = [Placed(*token) for token in tokens]
        require_order(wanted)
        self._require_room(len(wanted))
        if cancellation is not None:
            cancellation.require_going_on("Reading the context")
        kept = 0 if clean else common_prefix(self._tokens, wanted)
        removed = len(set(self._tokens[kept:]) - set(wanted))
        self._tokens = wanted
        return SyncReport(kept, removed, 0, len(wanted) - kept, time.perf_counter() - started)

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
        return self._steps(settings, positions, cancellation)

    def preview(self, token_ids: Sequence[int], count: int, *, cancellation: Cancellation | None = None) -> list[Token]:
        self._require_open()
        seen = [*(token.token_id for token in self._tokens), *token_ids]
        self._require_room(len(seen) + count)
        pieces: list[Piece] = []
        with linked(cancellation, self._closing) as ended:
            ended.require_going_on("The preview")
            for delta in self._deltas(seen, GenerationSettings(temperature=0, max_tokens=count), ended):
                pieces += self._codec.encode(delta.text)
                if len(pieces) >= count:
                    break
            ended.require_going_on("The preview")
        return tokens_of(pieces[:count])

    def keeps(self, token: Placed) -> bool:  # noqa: ARG002
        return False

    def close(self) -> None:
        self._closing.cancel()

    def _steps(
        self, settings: GenerationSettings, positions: Iterator[int] | None, cancellation: Cancellation | None
    ) -> Iterator[Step]:
        with linked(cancellation, self._closing) as ended:
            yield from shape_reply(self._raw_steps(settings, positions, ended), settings, ended)

    def _raw_steps(
        self, settings: GenerationSettings, positions: Iterator[int] | None, cancellation: Cancellation
    ) -> Iterator[RawStep]:
        finish = ""
        for delta in self._deltas([token.token_id for token in self._tokens], settings, cancellation):
            for piece in self._codec.encode(delta.text):
                if len(self._tokens) >= self._usable_tokens:
                    return
                yield RawStep(piece.id, piece.bytes, None, ends=False)
                position = next(positions) if positions is not None else self._tokens[-1].position + 1
                self._tokens.append(Placed(position, piece.id))
            finish = delta.finish or finish
        if finish != "length" and len(self._tokens) < self._usable_tokens:
            yield RawStep(CLOSING, b"", None, ends=True)

    def _deltas(
        self, token_ids: Sequence[int], settings: GenerationSettings, cancellation: Cancellation
    ) -> Iterator[Delta]:
        room = self._usable_tokens - len(token_ids)
        if room <= 0:
            return iter(())
        conversation = conversation_of(token_ids, lambda ids: self._codec.decode(ids).decode(errors="replace"))
        room_for_reply = max(1, room - _TEMPLATE_TOKENS - _MARK_TOKENS * len(conversation.messages))
        return self._chat.answer(conversation, settings, min(room_for_reply, settings.max_tokens), cancellation)

    def _require_room(self, tokens: int) -> None:
        if tokens > self._usable_tokens:
            raise ContextTooLarge(tokens, self._usable_tokens)

    def _require_open(self) -> None:
        if self._closing.is_cancelled:
            raise EngineError("The context is closed.")
