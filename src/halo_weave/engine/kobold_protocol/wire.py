"""The messages of the Kobold protocol with attention, and those of our extensions.

Requests use the field names of stock KoboldCPP, and unknown fields are ignored. Our additions to a standard response
are under the single key `halo_weave`.
"""

from typing import Literal

import msgspec

from halo_weave.engine.kobold_protocol.attention_codec import AttentionFormat, AttentionPayload
from halo_weave.engine.kobold_protocol.edit_script import EditStep, Run
from halo_weave.engine.protocol import (
    PHRASE_PENALTY_BASE,
    PHRASE_PENALTY_FREE_TOKENS,
    Abilities,
    Ability,
    AttentionChoice,
    FinishReason,
    GenerationSettings,
    ModelFacts,
    SpecialTokens,
)
from halo_weave.records.tokens import Token
from halo_weave.text.chat_template import ChatTemplate, chatml

PROTOCOL = 1
EXTENSIONS = ("context", "preview")

ErrorKind = Literal["input", "too_large", "no_context", "revision", "stopped", "busy", "engine"]
RequestId = str | int | None


class TokenText(msgspec.Struct, frozen=True):
    token_id: int
    text: str


class TokenizeRequest(msgspec.Struct, frozen=True):
    text: str
    add_special_tokens: bool = False
    parse_special: bool = True


class TokenizeReply(msgspec.Struct, frozen=True):
    tokens: list[TokenText]
    token_ids: list[int]
    token_count: int


class DetokenizeRequest(msgspec.Struct, frozen=True):
    token_ids: list[int]


class DetokenizeReply(msgspec.Struct, frozen=True):
    text: str


class StockDetokenizeRequest(msgspec.Struct, frozen=True):
    ids: list[int]


class StockDetokenizeReply(msgspec.Struct, frozen=True):
    result: str
    success: bool = True


class TokenCountRequest(msgspec.Struct, frozen=True):
    """`special` puts the model's BOS token first, which is the stock default."""

    prompt: str
    special: bool = True


class TokenCountReply(msgspec.Struct, frozen=True):
    ids: list[int]
    value: int = 0


_DEFAULTS = GenerationSettings()
# GenerationSettings under stock names, so error messages name the field as it was sent.
_StockSettings = msgspec.defstruct(
    "_StockSettings",
    [(field.name, field.type, field.default) for field in msgspec.structs.fields(GenerationSettings)],
    rename={
        "repeat_penalty": "rep_pen",
        "phrase_penalty": "dry_multiplier",
        "seed": "sampler_seed",
        "max_tokens": "max_length",
        "stop": "stop_sequence",
    },
)


class GenerateRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """One of `prompt`, `input_ids` and `context_id` is the text to continue. A negative seed means random."""

    prompt: str | None = None
    input_ids: list[int] | None = None
    context_id: str | None = None
    revision: int | None = None
    first_position: str | None = None
    max_length: int = _DEFAULTS.max_tokens
    temperature: float = _DEFAULTS.temperature
    top_p: float = _DEFAULTS.top_p
    top_k: int = _DEFAULTS.top_k
    min_p: float = _DEFAULTS.min_p
    rep_pen: float = _DEFAULTS.repeat_penalty
    dry_multiplier: float = _DEFAULTS.phrase_penalty
    sampler_seed: int | None = None
    stop_sequence: list[str] = []
    output_attentions: bool = False
    attention_format: AttentionFormat = "aggregated"
    request_id: RequestId = None
    genkey: str | None = None

    def __post_init__(self) -> None:
        self.settings()

    def settings(self) -> GenerationSettings:
        """Raises msgspec.ValidationError if a value is out of range; decoding a request already checks this."""
        sent = {name: getattr(self, name) for name in _StockSettings.__struct_encode_fields__}
        if self.sampler_seed is not None and self.sampler_seed < 0:
            del sent["sampler_seed"]
        return GenerationSettings(*msgspec.structs.astuple(msgspec.convert(sent, _StockSettings)))


def sampling_fields(settings: GenerationSettings) -> dict[str, object]:
    """Return generation settings under their stock names."""
    fields: dict[str, object] = msgspec.to_builtins(_StockSettings(*msgspec.structs.astuple(settings)))
    if settings.phrase_penalty:
        fields |= {"dry_base": PHRASE_PENALTY_BASE, "dry_allowed_length": PHRASE_PENALTY_FREE_TOKENS}
    return {name: value for name, value in fields.items() if value is not None}


class AbortRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    request_id: RequestId = None
    genkey: str | None = None
    context_id: str | None = None


class OpenContextRequest(msgspec.Struct, frozen=True):
    """`attention: null` turns off attention reporting."""

    attention: AttentionChoice | None = AttentionChoice()


class OpenContextReply(msgspec.Struct, frozen=True):
    context_id: str
    revision: int
    model_name: str


class SyncRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """Has either `edits` against `revision`, or all `tokens`."""

    context_id: str
    revision: int | None = None
    edits: list[EditStep] | None = None
    tokens: list[Run] | None = None
    clean: bool = False
    observe: bool = False
    request_id: RequestId = None


class Reading(msgspec.Struct, frozen=True):
    """Attention of the decoded tokens: their indices in the wanted context, and one row for each."""

    read: list[int]
    attention: AttentionPayload


class SyncReply(msgspec.Struct, frozen=True):
    revision: int
    kept: int
    removed: int
    restored: int
    decoded: int
    seconds: float
    reading: Reading | None = None


class CloseContextRequest(msgspec.Struct, frozen=True):
    context_id: str


class PreviewRequest(msgspec.Struct, frozen=True):
    context_id: str
    revision: int
    input_ids: list[int]
    count: int
    request_id: RequestId = None


class PreviewReply(msgspec.Struct, frozen=True):
    tokens: list[TokenText]


class TokenExtras(msgspec.Struct, frozen=True):
    finish_reason: FinishReason


class TokenEvent(msgspec.Struct, frozen=True, tag="token", tag_field="type"):
    """`halo_weave` is set only on the last token, if the generation ends with one."""

    token: TokenText
    request_id: RequestId
    attention: AttentionPayload | None
    halo_weave: TokenExtras | msgspec.UnsetType = msgspec.UNSET


class DoneExtras(msgspec.Struct, frozen=True):
    """`text` follows the last token; `edits` turn the context before the generation into the one at `revision`."""

    finish_reason: FinishReason
    text: str = ""
    revision: int | None = None
    edits: list[EditStep] = []


class DoneEvent(msgspec.Struct, frozen=True, tag="done", tag_field="type"):
    finish_reason: Literal["stop", "length"]
    total_tokens: int
    request_id: RequestId
    halo_weave: DoneExtras


class ErrorDetail(msgspec.Struct, frozen=True, omit_defaults=True):
    msg: str
    kind: ErrorKind = "engine"
    wanted_tokens: int | None = None
    usable_tokens: int | None = None


class WireError(msgspec.Struct, frozen=True):
    detail: ErrorDetail


class ErrorEvent(msgspec.Struct, frozen=True, tag="error", tag_field="type"):
    detail: ErrorDetail
    status: int
    request_id: RequestId = None


class ModelExtras(msgspec.Struct, frozen=True):
    protocol: int
    extensions: list[str]
    usable_context: int
    abilities: Abilities
    special_tokens: SpecialTokens
    chat_template: ChatTemplate


class ModelInfo(msgspec.Struct, frozen=True):
    """The rope fields are part of the protocol, but engines do not report them, so our server sends null."""

    result: str = ""
    model_name: str = ""
    vocab_size: int = 0
    num_layers: int = 0
    num_attention_heads: int = 0
    num_key_value_heads: int = 0
    embedding_size: int = 0
    max_context_length: int = 0
    max_trained_context: int = 0
    bos_token_id: int | None = None
    eos_token_id: int | None = None
    eot_token_id: int | None = None
    rope_freq_base: float | None = None
    rope_freq_scale: float | None = None
    halo_weave: ModelExtras | None = None


def stock_finish(reason: FinishReason) -> Literal["stop", "length"]:
    return "length" if reason == "length" else "stop"


def token_texts(tokens: list[Token]) -> list[TokenText]:
    return [TokenText(token.id, token.text) for token in tokens]


def info_of(facts: ModelFacts) -> ModelInfo:
    return ModelInfo(
        result=facts.name,
        model_name=facts.name,
        vocab_size=facts.vocabulary_size,
        num_layers=facts.layers,
        num_attention_heads=facts.heads,
        num_key_value_heads=facts.kv_heads,
        embedding_size=facts.embedding_size,
        max_context_length=facts.usable_context,
        max_trained_context=facts.trained_context,
        bos_token_id=facts.special_tokens.bos,
        eos_token_id=facts.special_tokens.eos,
        eot_token_id=facts.special_tokens.end_of_turn,
        halo_weave=ModelExtras(
            PROTOCOL,
            list(EXTENSIONS),
            facts.usable_context,
            facts.abilities,
            facts.special_tokens,
            facts.chat_template,
        ),
    )


def facts_of(info: ModelInfo, *, context: int, attention: Ability, template: ChatTemplate | None = None) -> ModelFacts:
    """`context`, `attention` and `template` fill in what the server does not report itself."""
    extras = info.halo_weave
    usable = extras.usable_context if extras else context
    return ModelFacts(
        name=info.model_name or info.result or "unknown",
        trained_context=info.max_trained_context or usable,
        usable_context=usable,
        layers=info.num_layers,
        heads=info.num_attention_heads,
        kv_heads=info.num_key_value_heads or info.num_attention_heads,
        embedding_size=info.embedding_size,
        vocabulary_size=info.vocab_size,
        special_tokens=extras.special_tokens if extras else _special_tokens(info),
        chat_template=extras.chat_template if extras else template or chatml(),
        abilities=extras.abilities if extras else Abilities(attention, _NO_EDITING),
    )


_NO_EDITING = Ability(False, "the server has no editable context, so the whole context is sent for every reply")


def _special_tokens(info: ModelInfo) -> SpecialTokens:
    known = [
        token_id if token_id is not None and token_id >= 0 else None
        for token_id in (info.bos_token_id, info.eos_token_id, info.eot_token_id)
    ]
    return SpecialTokens(*known)
