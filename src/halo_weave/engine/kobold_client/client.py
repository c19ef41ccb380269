"""An engine on a server that speaks the Kobold protocol: ours, one that reports attention, or stock KoboldCPP.

The constructor detects what the server can do: our server names its extensions, a server with attention has
/api/v1/tokenize, and a stock server has neither.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from halo_weave.engine.kobold_client.connection import Connection, Timeouts
from halo_weave.engine.kobold_client.context import KoboldContext, SkippedAttention
from halo_weave.engine.kobold_client.editable_context import EditableContext
from halo_weave.engine.kobold_client.resent_context import ResentContext
from halo_weave.engine.kobold_client.vocabulary import RemoteVocabulary, ServerVocabulary, StockVocabulary
from halo_weave.engine.kobold_protocol.wire import PROTOCOL, ModelInfo, TokenizeReply, TokenizeRequest, facts_of
from halo_weave.engine.protocol import Ability, AttentionChoice, ModelFacts
from halo_weave.errors import EngineProtocolError
from halo_weave.records.tokens import Token
from halo_weave.text.chat_template import ChatTemplate, from_jinja

Dialect = Literal["editable", "attentive", "stock"]

_CONTEXT_OF_UNKNOWN_SERVERS = 2048
_ATTENTIVE = Ability(True)
_STOCK = Ability(False, "stock KoboldCPP does not report the model's attention")


class _Value(msgspec.Struct, frozen=True):
    value: int


class KoboldEngine:
    def __init__(self, url: str, *, api_key: str = "", timeouts: Timeouts = Timeouts()) -> None:  # noqa: B008
        self._connection = Connection(url, timeouts, api_key)
        self._skipped = SkippedAttention()
        try:
            info = self._model_info()
            self.dialect: Dialect = self._find_dialect(info)
            self.facts: ModelFacts = self._find_facts(info)
            self._vocabulary = self._find_vocabulary()
        except BaseException:
            self._connection.close()
            raise

    @property
    def skipped_attention(self) -> "Counter[str]":
        """Number of tokens whose attention could not be used, by reason."""
        return self._skipped.attention

    @property
    def skipped_events(self) -> "Counter[str]":
        """Number of events that could not be read, by reason."""
        return self._skipped.events

    def tokenize(self, text: str, *, special: bool = False) -> list[Token]:
        return self._vocabulary.tokenize(text, special=special) if text else []

    def detokenize(self, token_ids: Sequence[int]) -> str:
        return self._vocabulary.detokenize(token_ids) if token_ids else ""

    def open_context(self, *, attention: AttentionChoice | None = AttentionChoice()) -> KoboldContext:  # noqa: B008
        told = attention if self.facts.abilities.attention.available else None
        if self.dialect == "editable":
            return EditableContext(self._connection, self.facts, told, self._skipped)
        return ResentContext(
            self._connection,
            self.facts,
            told,
            self._skipped,
            self._vocabulary,
            sends_ids=self.dialect == "attentive",
        )

    def close(self) -> None:
        self._connection.close()

    def _model_info(self) -> ModelInfo:
        told: dict[str, Any] = self._connection.get("/api/v1/model", dict[str, Any])
        try:
            return msgspec.convert({name: value for name, value in told.items() if value is not None}, ModelInfo)
        except msgspec.ValidationError as error:
            raise EngineProtocolError(
                f"The model server at {self._connection.url} describes its model in an unknown format: {error}."
            ) from error

    def _find_dialect(self, info: ModelInfo) -> Dialect:
        extras = info.halo_weave
        if extras is not None and extras.protocol == PROTOCOL and {"context", "preview"} <= set(extras.extensions):
            return "editable"
        try:
            self._connection.post("/api/v1/tokenize", TokenizeRequest("a"), TokenizeReply)
        except EngineProtocolError:
            return "stock"
        return "attentive"

    def _find_facts(self, info: ModelInfo) -> ModelFacts:
        if self.dialect == "editable":
            return facts_of(info, context=info.max_context_length, attention=_ATTENTIVE)
        return facts_of(
            info,
            context=info.max_context_length or self._context_length(),
            attention=_ATTENTIVE if self.dialect == "attentive" else _STOCK,
            template=self._chat_template(),
        )

    def _find_vocabulary(self) -> RemoteVocabulary:
        return StockVocabulary(self._connection) if self.dialect == "stock" else ServerVocabulary(self._connection)

    def _context_length(self) -> int:
        for path in ("/api/extra/true_max_context_length", "/api/v1/config/max_context_length"):
            try:
                return self._connection.get(path, _Value).value
            except EngineProtocolError:
                continue
        return _CONTEXT_OF_UNKNOWN_SERVERS

    def _chat_template(self) -> ChatTemplate | None:
        """Return the model's template, which newer versions of KoboldCPP report. The server adds the BOS token."""
        try:
            template = self._connection.get("/props", dict[str, Any]).get("chat_template")
        except EngineProtocolError:
            return None
        return from_jinja(template) if isinstance(template, str) and template else None
