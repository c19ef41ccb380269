"""Encodes attention as base64 of float32: one row over the context, or one per layer and head."""

import base64
import binascii
import math
from typing import Literal

import msgspec
import numpy as np

from halo_weave.engine.protocol import Attention, AttentionChoice

AttentionFormat = Literal["aggregated", "per_layer"]

_SUM_TOLERANCE = 1e-2
_NEGATIVE_TOLERANCE = -1e-6
_DTYPE = np.dtype("<f4")


class AttentionPayload(msgspec.Struct, frozen=True):
    format: str
    shape: list[int]
    context_length: int
    encoding: str
    dtype: str
    data: str


class UnusableAttention(Exception):
    """`reason` is the one-word key under which the loss is counted."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"The attention is not valid: {reason}.")
        self.reason = reason


def encode_attention(attention: Attention) -> AttentionPayload:
    """Encode [tokens] as aggregated, [layers, heads, tokens] as per_layer."""
    return AttentionPayload(
        format="per_layer" if attention.ndim >= 3 else "aggregated",
        shape=list(attention.shape),
        context_length=attention.shape[-1],
        encoding="base64",
        dtype="float32",
        data=base64.b64encode(np.ascontiguousarray(attention, dtype=_DTYPE).tobytes()).decode("ascii"),
    )


def decode_array(payload: object) -> Attention:
    """Return the array as sent, without checking its values."""
    try:
        message = msgspec.convert(payload, AttentionPayload)
    except msgspec.ValidationError as error:
        raise UnusableAttention("malformed") from error
    if message.encoding != "base64":
        raise UnusableAttention("encoding")
    if message.dtype != "float32":
        raise UnusableAttention("dtype")
    try:
        data = base64.b64decode(message.data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise UnusableAttention("base64") from error
    if any(size < 0 for size in message.shape) or len(data) != math.prod(message.shape) * _DTYPE.itemsize:
        raise UnusableAttention("shape")
    return np.frombuffer(data, _DTYPE).reshape(message.shape).astype(np.float32)


def decode_attention(payload: object, tokens: int, choice: AttentionChoice, *, is_chosen: bool) -> Attention:
    """Decode attention over a context of `tokens` and reduce it as `choice` asks.

    Set `is_chosen` if the server knows the choice and has already selected the layers and heads.
    """
    if payload is None:
        raise UnusableAttention("missing")
    rows = decode_array(payload)
    if rows.ndim not in (1, 3):
        raise UnusableAttention("shape")
    if rows.shape[-1] != tokens:
        raise UnusableAttention("length")
    _require_shares(rows)
    if rows.ndim == 1:
        return _aggregated(rows, choice, is_chosen)
    return _reduced(rows if is_chosen else _chosen(rows, choice), choice)


def wants_layers(choice: AttentionChoice) -> bool:
    """Whether the choice needs the attention of single layers and heads."""
    return choice != AttentionChoice()


def _require_shares(rows: Attention) -> None:
    if not np.isfinite(rows).all():
        raise UnusableAttention("not_finite")
    if (rows < _NEGATIVE_TOLERANCE).any():
        raise UnusableAttention("negative")
    if (np.abs(rows.sum(axis=-1, dtype=np.float64) - 1) > _SUM_TOLERANCE).any():
        raise UnusableAttention("unnormalised")


def _aggregated(row: Attention, choice: AttentionChoice, is_chosen: bool) -> Attention:
    if choice.reduce == "none" or (wants_layers(choice) and not is_chosen):
        raise UnusableAttention("format")
    return row


def _chosen(rows: Attention, choice: AttentionChoice) -> Attention:
    try:
        if choice.layers is not None:
            rows = rows[list(choice.layers)]
        if choice.heads is not None:
            rows = rows[:, list(choice.heads)]
    except IndexError as error:
        raise UnusableAttention("shape") from error
    return rows


def _reduced(rows: Attention, choice: AttentionChoice) -> Attention:
    if choice.reduce == "none":
        return rows
    if not rows.size:
        raise UnusableAttention("shape")
    if choice.reduce == "mean":
        mean: Attention = rows.mean(axis=(0, 1), dtype=np.float32)
        return mean
    largest: Attention = rows.max(axis=(0, 1))
    largest /= largest.sum()
    return largest
