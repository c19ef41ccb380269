"""Reads a server's description of its model. Numbers that the server does not report are 0."""

from typing import Any

import msgspec

from halo_weave.engine.openai_client.connection import OpenAIConnection, Refused
from halo_weave.errors import EngineProtocolError, EngineUnavailable


class ServedModel(msgspec.Struct, frozen=True):
    id: str
    """The id to use in requests; empty if the server names none."""
    context: int = 0
    trained_context: int = 0
    vocabulary_size: int = 0
    embedding_size: int = 0

    @property
    def name(self) -> str:
        """The name to display. llama.cpp's server identifies a model by the path of its file."""
        return self.id.replace("\\", "/").rsplit("/", 1)[-1] if self.id.endswith(".gguf") else self.id or "unnamed"


def describe(connection: OpenAIConnection, wanted: str) -> ServedModel:
    """Describe the model called `wanted`, or the server's first model if `wanted` is empty."""
    entry = _entry(_optional(connection, "/v1/models"), wanted)
    properties = _optional(connection, "/props")
    settings = properties.get("default_generation_settings")
    meta = entry.get("meta")
    meta = meta if isinstance(meta, dict) else {}
    trained = _number(meta, "n_ctx_train")
    longest = _number(entry, "max_model_len")
    return ServedModel(
        id=wanted or str(entry.get("id") or ""),
        context=_number(settings, "n_ctx") or longest or _number(meta, "n_ctx"),
        trained_context=trained or longest,
        vocabulary_size=_number(meta, "n_vocab"),
        embedding_size=_number(meta, "n_embd"),
    )


def _optional(connection: OpenAIConnection, path: str) -> dict[str, Any]:
    """Return the server's answer, or an empty dict if it has none for this path."""
    try:
        return connection.get(path, dict[str, Any])
    except Refused as refused:
        if refused.status in (401, 403):
            raise
        return {}
    except EngineProtocolError:
        return {}
    except EngineUnavailable:
        if path == "/v1/models":
            raise
        return {}


def _entry(answer: dict[str, Any], wanted: str) -> dict[str, Any]:
    listed = answer.get("data")
    entries = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    named = [entry for entry in entries if entry.get("id") == wanted]
    if named or wanted:
        return named[0] if named else {}
    return entries[0] if entries else {}


def _number(values: Any, key: str) -> int:
    value = values.get(key) if isinstance(values, dict) else None
    return value if isinstance(value, int) and value > 0 else 0
