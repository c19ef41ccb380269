"""A context for servers that keep none for us: every request for a reply sends all of it.

Such a server decides for itself what it caches of earlier text. To be sure that deleted text is gone, use an engine
with an editable context.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack

from halo_weave.engine.cancellation import Cancellation, linked
from halo_weave.engine.difference import common_prefix, difference
from halo_weave.engine.kobold_client.connection import Connection
from halo_weave.engine.kobold_client.context import KoboldContext, RunningRequest, SkippedAttention, take_position
from halo_weave.engine.kobold_client.reply_events import DoneSeen, ErrorSeen, PieceSeen, TokenSeen, readable_events
from halo_weave.engine.kobold_client.vocabulary import RemoteVocabulary
from halo_weave.engine.kobold_protocol.attention_codec import wants_layers
from halo_weave.engine.kobold_protocol.wire import TokenText, sampling_fields
from halo_weave.engine.protocol import (
    AttentionChoice,
    FinishReason,
    GenerationSettings,
    ModelFacts,
    OnRead,
    Placed,
    Step,
    SyncReport,
)
from halo_weave.engine.reply import RawStep, shape_reply
from halo_weave.errors import EngineProtocolError, EngineStopped, EngineUnavailable
from halo_weave.records.tokens import Token

_REPEAT_PENALTY_TOKENS = 64


class ResentContext(KoboldContext):
    """Sends token ids if `sends_ids` is set, otherwise text."""

    def __init__(
        self,
        connection: Connection,
        facts: ModelFacts,
        attention: AttentionChoice | None,
        skipped: SkippedAttention,
        vocabulary: RemoteVocabulary,
        *,
        sends_ids: bool,
    ) -> None:
        super().__init__(connection, facts, attention, skipped)
        self._vocabulary = vocabulary
        self._sends_ids = sends_ids

    def sync(
        self,
        tokens: Sequence[Placed],
        *,
        clean: bool = False,
        observe: bool = False,  # noqa: ARG002
        cancellation: Cancellation | None = None,
        on_read: OnRead | None = None,  # noqa: ARG002
    ) -> SyncReport:
        """Sends nothing yet. `kept` is the unchanged beginning, which a server can be expected to have cached."""
        started = time.perf_counter()
        wanted = self._checked(tokens)
        if cancellation is not None:
            cancellation.require_going_on("Reading the context")
        old, self._tokens = self._tokens, wanted
        kept = 0 if clean else common_prefix(old, wanted)
        removed = len(old) - sum(run.length for run in difference(old, wanted).kept)
        return SyncReport(kept, removed, 0, len(wanted) - kept, time.perf_counter() - started)

    def preview(self, token_ids: Sequence[int], count: int, *, cancellation: Cancellation | None = None) -> list[Token]:
        self._require_open()
        self._require_room(len(self._tokens) + len(token_ids) + count)
        scratch = ResentContext(
            self._connection, self._facts, None, self._skipped, self._vocabulary, sends_ids=self._sends_ids
        )
        first = self._tokens[-1].position + 1 if self._tokens else 0
        scratch._tokens = [*self._tokens, *(Placed(*placed) for placed in enumerate(token_ids, first))]
        settings = GenerationSettings(temperature=0, top_k=1, top_p=1, max_tokens=count)
        with linked(cancellation, self._closing) as ended:
            ended.require_going_on("The preview")
            steps = list(scratch._generate(settings, None, ended))
            ended.require_going_on("The preview")
        return [Token(step.token_id, step.text) for step in steps if step.token_id is not None]

    def _generate(
        self, settings: GenerationSettings, positions: Iterator[int] | None, cancellation: Cancellation | None
    ) -> Iterator[Step]:
        ending = _Ending()
        with linked(cancellation, self._closing) as ended:
            raw = self._raw_steps(settings, positions, ended, ending)
            for step in shape_reply(raw, settings, ended):
                # `shape_reply` takes a reply without an end of its own for one that filled the context.
                is_servers_end = step.finish_reason == "length" and step.token_id is None
                yield step._replace(finish_reason=ending.reason) if is_servers_end else step

    def _raw_steps(
        self, settings: GenerationSettings, positions: Iterator[int] | None, ended: Cancellation, ending: "_Ending"
    ) -> Iterator[RawStep]:
        room = self._facts.usable_context - len(self._tokens)
        if room <= 0:
            ending.reason = "length"
            return
        try:
            with ExitStack() as stack:
                work = stack.enter_context(self._asking(ended))
                request = self._request(settings, min(room, settings.max_tokens), work)
                received = stack.enter_context(self._connection.stream("/api/extra/generate/stream", request, ended))
                for event in readable_events(received, self._skipped.events):
                    if ended.is_cancelled:
                        return
                    if isinstance(event, ErrorSeen):
                        raise self._connection.error_of(event.detail, event.status)
                    if isinstance(event, TokenSeen):
                        yield self._raw_step(event.token, event.attention, positions)
                    elif isinstance(event, PieceSeen):
                        for token in self._tokens_of_piece(event.text):
                            yield self._raw_step(token, None, positions)
                    if isinstance(event, DoneSeen | PieceSeen) and self._ends(event, ending):
                        return
        except (EngineUnavailable, EngineStopped):
            if not ended.is_cancelled:
                raise

    def _request(self, settings: GenerationSettings, max_length: int, work: RunningRequest) -> dict[str, object]:
        ids = [token.token_id for token in self._tokens]
        request: dict[str, object] = {
            **sampling_fields(settings),
            **({"input_ids": ids} if self._sends_ids else {"prompt": self._vocabulary.detokenize(ids)}),
            "max_length": max_length,
            "max_context_length": self._facts.usable_context,
            "rep_pen_range": _REPEAT_PENALTY_TOKENS,
            "trim_stop": True,
            "output_attentions": self._attention is not None,
            "request_id": work.request_id,
            "genkey": work.request_id,
        }
        if settings.temperature == 0:
            request["top_k"] = 1
        if self._attention is not None and wants_layers(self._attention):
            request["attention_format"] = "per_layer"
        return request

    def _raw_step(self, token: TokenText, attention: object, positions: Iterator[int] | None) -> RawStep:
        row = self._read_attention(attention, len(self._tokens), is_chosen=False)
        self._tokens.append(Placed(take_position(positions, self._tokens), token.token_id))
        special = self._facts.special_tokens
        return RawStep(token.token_id, token.text.encode(), row, token.token_id in (special.eos, special.end_of_turn))

    def _tokens_of_piece(self, text: str) -> list[TokenText]:
        return (
            [TokenText(token.id, token.text) for token in self._vocabulary.tokenize(text, special=True)] if text else []
        )

    def _ends(self, event: DoneSeen | PieceSeen, ending: "_Ending") -> bool:
        if event.finish_reason == "error":
            raise EngineProtocolError(f"The model server at {self._connection.url} reported an error in its reply.")
        if event.finish_reason is None and isinstance(event, PieceSeen):
            return False
        ending.reason = "length" if event.finish_reason == "length" else "end"
        return True


class _Ending:
    """Why the server ended the reply. A stream that ends without a reason counts as stopped."""

    def __init__(self) -> None:
        self.reason: FinishReason = "stopped"
