"""Builds the body of a chat request and parses its streamed answer. Pure."""

from typing import Any, NamedTuple

import msgspec

from halo_weave.engine.openai_client.messages import Conversation, alternating
from halo_weave.engine.protocol import PHRASE_PENALTY_BASE, PHRASE_PENALTY_FREE_TOKENS, GenerationSettings

END_OF_STREAM = "[DONE]"


class Delta(NamedTuple):
    """`finish` is empty until the last delta of a reply."""

    text: str
    finish: str


class StreamError(Exception):
    """The server reported an error in the middle of its answer."""


class _Content(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    delta: _Content | None = None
    finish_reason: str | None = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice] = []
    error: Any = None


def request_body(
    conversation: Conversation, settings: GenerationSettings, *, model: str, max_tokens: int, strict: bool
) -> dict[str, Any]:
    """Build the request body. `strict` omits fields that only servers for local models know.

    Stop strings are never sent, because servers do not report whether one of them or the model itself ended the reply.
    """
    body: dict[str, Any] = {
        "messages": [message._asdict() for message in alternating(conversation.messages)],
        "stream": True,
        "max_tokens": max_tokens,
        "temperature": settings.temperature,
        "top_p": settings.top_p,
    }
    if model:
        body["model"] = model
    if settings.seed is not None:
        body["seed"] = settings.seed
    return body if strict else {**body, **_local_model_fields(conversation, settings)}


def _local_model_fields(conversation: Conversation, settings: GenerationSettings) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "top_k": 1 if settings.temperature == 0 else settings.top_k,
        "min_p": settings.min_p,
        # No thinking, as with a model in this process. If the model thinks anyway, its thoughts stay part of the text.
        "chat_template_kwargs": {"enable_thinking": False},
        "reasoning_format": "none",
    }
    if settings.repeat_penalty != 1:
        # llama.cpp and vLLM use different names for the same setting.
        fields |= {"repeat_penalty": settings.repeat_penalty, "repetition_penalty": settings.repeat_penalty}
    if settings.phrase_penalty:
        fields |= {
            "dry_multiplier": settings.phrase_penalty,
            "dry_base": PHRASE_PENALTY_BASE,
            "dry_allowed_length": PHRASE_PENALTY_FREE_TOKENS,
        }
    if conversation.continues:
        fields |= {"continue_final_message": True, "add_generation_prompt": False}
    return fields


def read_delta(data: str) -> Delta | None:
    """Return the text of one event, or None if the event is malformed."""
    try:
        chunk = msgspec.json.decode(data, type=_Chunk)
    except (msgspec.DecodeError, UnicodeError):
        return None
    if chunk.error is not None:
        message = chunk.error.get("message") if isinstance(chunk.error, dict) else None
        raise StreamError(str(message or chunk.error))
    if not chunk.choices:
        return Delta("", "")
    choice = chunk.choices[0]
    text = choice.delta.content if choice.delta is not None else None
    return Delta(text or "", choice.finish_reason or "")
