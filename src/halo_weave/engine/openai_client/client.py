"""The engine for OpenAI-compatible servers: sends whole conversations, receives text."""

from collections.abc import Sequence

from halo_weave.engine.openai_client.chat import ChatRequests
from halo_weave.engine.openai_client.codec import Codec, tokens_of
from halo_weave.engine.openai_client.connection import OpenAIConnection
from halo_weave.engine.openai_client.context import OpenAIContext
from halo_weave.engine.openai_client.description import ServedModel, describe
from halo_weave.engine.openai_client.messages import CHAT_TEMPLATE, CLOSING
from halo_weave.engine.openai_client.tokenizers import find_tokenizer
from halo_weave.engine.protocol import Abilities, Ability, AttentionChoice, ModelFacts, SpecialTokens
from halo_weave.errors import EngineError
from halo_weave.records.tokens import Token

_USUAL_CONTEXT = 4096
_NO_ATTENTION = "an OpenAI-compatible server sends text but no attention"
_NO_EDITING = "an OpenAI-compatible server reads the whole conversation each time, so its context cannot be edited"


class OpenAIEngine:
    """Layers, heads and other facts that the server does not report are 0."""

    def __init__(
        self, url: str, model: str = "", api_key: str = "", *, context_tokens: int = 0, timeout_s: float = 600.0
    ) -> None:
        """With `context_tokens=0`, use the server's own context size, or 4,096 if it does not report one."""
        self._connection = OpenAIConnection(url, api_key, timeout_s=timeout_s)
        self._is_closed = False
        try:
            served = describe(self._connection, model)
            self._codec = Codec(find_tokenizer(self._connection, served.id))
        except BaseException:
            self._connection.close()
            raise
        self._chat = ChatRequests(self._connection, served.id)
        self.facts = _facts(served, context_tokens)

    def tokenize(self, text: str, *, special: bool = False) -> list[Token]:
        self._require_open()
        return tokens_of(self._codec.encode(text, special=special))

    def detokenize(self, token_ids: Sequence[int]) -> str:
        self._require_open()
        return self._codec.decode(token_ids).decode(errors="replace")

    def open_context(self, *, attention: AttentionChoice | None = AttentionChoice()) -> OpenAIContext:  # noqa: ARG002, B008
        """Open a new context. `attention` has no effect, because the server reports none."""
        self._require_open()
        return OpenAIContext(self._chat, self._codec, self.facts.usable_context)

    def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._connection.close()
            self._codec.close()

    def _require_open(self) -> None:
        if self._is_closed:
            raise EngineError("The engine is closed.")


def _facts(served: ServedModel, context_tokens: int) -> ModelFacts:
    limits = [tokens for tokens in (context_tokens, served.context) if tokens > 0]
    usable_context = min(limits, default=_USUAL_CONTEXT)
    return ModelFacts(
        name=served.name,
        trained_context=served.trained_context or usable_context,
        usable_context=usable_context,
        layers=0,
        heads=0,
        kv_heads=0,
        embedding_size=served.embedding_size,
        vocabulary_size=served.vocabulary_size,
        special_tokens=SpecialTokens(bos=None, eos=None, end_of_turn=CLOSING),
        chat_template=CHAT_TEMPLATE,
        abilities=Abilities(attention=Ability(False, _NO_ATTENTION), editing=Ability(False, _NO_EDITING)),
    )
