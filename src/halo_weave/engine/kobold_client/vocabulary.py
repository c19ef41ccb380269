"""Tokenizes and detokenizes through a Kobold server, over our API or the stock one."""

from collections.abc import Iterator, Sequence
from typing import Protocol, TypeVar

from halo_weave.engine.kobold_client.connection import Connection
from halo_weave.engine.kobold_protocol.wire import (
    DetokenizeReply,
    DetokenizeRequest,
    StockDetokenizeReply,
    StockDetokenizeRequest,
    TokenCountReply,
    TokenCountRequest,
    TokenizeReply,
    TokenizeRequest,
)
from halo_weave.errors import EngineProtocolError
from halo_weave.records.tokens import Token

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")
_MOST_LOOKUPS = 256
_MOST_REMEMBERED = 65_536
_FARTHEST = 512
"""Characters to search for a piece. More than any token has, and few enough that a missing piece costs little."""


class RemoteVocabulary(Protocol):
    def tokenize(self, text: str, *, special: bool) -> list[Token]: ...

    def detokenize(self, token_ids: Sequence[int]) -> str: ...


class ServerVocabulary:
    """For servers with /api/v1/tokenize. Only ours knows `parse_special`; others decide about marks themselves."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def tokenize(self, text: str, *, special: bool) -> list[Token]:
        request = TokenizeRequest(text, add_special_tokens=False, parse_special=special)
        tokens = self._connection.post("/api/v1/tokenize", request, TokenizeReply).tokens
        texts = spread_text(text, [token.text for token in tokens])
        return [Token(token.token_id, piece) for token, piece in zip(tokens, texts, strict=True)]

    def detokenize(self, token_ids: Sequence[int]) -> str:
        request = DetokenizeRequest(list(token_ids))
        return self._connection.post("/api/v1/detokenize", request, DetokenizeReply).text


class StockVocabulary:
    """For stock KoboldCPP, which does not return the texts of single tokens: they are requested one by one and cached.

    Stock always reads marks as control tokens. A server too old for /api/extra/detokenize returns only ids. Then the
    last token of a text carries all of it, and only text that was tokenized or generated before can be detokenized.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._ids: dict[str, tuple[int, ...]] = {}
        self._pieces: dict[int, str] = {}
        self._texts: dict[tuple[int, ...], str] = {}
        self._start = self._ask_ids("")
        self._can_detokenize = self._ask_text([]) is not None

    def tokenize(self, text: str, *, special: bool) -> list[Token]:  # noqa: ARG002
        ids = self._ids_of(text)
        texts = spread_text(text, self._pieces_of(ids))
        return [Token(token_id, piece) for token_id, piece in zip(ids, texts, strict=True)]

    def detokenize(self, token_ids: Sequence[int]) -> str:
        if self._can_detokenize:
            text = self._ask_text(token_ids)
            if text is not None:
                return text
        return "".join(self._remembered(tuple(token_ids)))

    def _ids_of(self, text: str) -> tuple[int, ...]:
        ids = self._ids.get(text)
        if ids is None:
            ids = self._ask_ids(text) if text else ()
            # Some versions put the BOS token first even when told not to.
            if self._start and ids[: len(self._start)] == self._start:
                ids = ids[len(self._start) :]
            _remember(self._ids, text, ids)
            _remember(self._texts, ids, text)
        return ids

    def _pieces_of(self, ids: tuple[int, ...]) -> list[str]:
        if self._can_detokenize:
            unknown = [token_id for token_id in dict.fromkeys(ids) if token_id not in self._pieces]
            for token_id in unknown[:_MOST_LOOKUPS]:
                _remember(self._pieces, token_id, self._ask_text([token_id]) or "")
        return [self._pieces.get(token_id, "") for token_id in ids]

    def _remembered(self, ids: tuple[int, ...]) -> Iterator[str]:
        start = 0
        longest = max(map(len, self._texts), default=0)
        while start < len(ids):
            ends = range(min(len(ids), start + longest), start, -1)
            end = next((end for end in ends if ids[start:end] in self._texts), None)
            if end is None:
                raise EngineProtocolError(
                    f"The model server at {self._connection.url} cannot convert tokens to text; update KoboldCPP."
                )
            yield self._texts[ids[start:end]]
            start = end

    def _ask_ids(self, text: str) -> tuple[int, ...]:
        request = TokenCountRequest(text, special=False)
        return tuple(self._connection.post("/api/extra/tokencount", request, TokenCountReply).ids)

    def _ask_text(self, token_ids: Sequence[int]) -> str | None:
        request = StockDetokenizeRequest(list(token_ids))
        try:
            reply = self._connection.post("/api/extra/detokenize", request, StockDetokenizeReply)
        except EngineProtocolError:
            return None
        return reply.result if reply.success else None


def spread_text(text: str, pieces: Sequence[str]) -> list[str]:
    """Split the text into one part per piece. The joined parts are always the text, whatever the pieces say.

    A piece that is not found (part of a character, or unknown) gets an empty part. Text between two found pieces goes
    to the piece just before the later one, which was not found itself.
    """
    if "".join(pieces) == text:
        return list(pieces)
    parts = [""] * len(pieces)
    end = 0
    for index, piece in enumerate(pieces):
        found, length = _find(text, piece, end, is_first=end == 0, is_next=not index or bool(parts[index - 1]))
        if found < 0:
            continue
        if found > end:
            parts[index - 1] += text[end:found]
        parts[index] = text[found : found + length]
        end = found + length
    if parts:
        parts[-1] += text[end:]
    return parts


def _find(text: str, piece: str, start: int, *, is_first: bool, is_next: bool) -> tuple[int, int]:
    """Return the index and length of a piece in the text, or (-1, 0). `is_next` only accepts it exactly at `start`."""
    # The first piece may begin with a space that belongs to the vocabulary, not to the text.
    for form in (piece, piece.removeprefix(" ")) if is_first else (piece,):
        if form.strip("\ufffd"):
            found = (
                start if text.startswith(form, start) else -1 if is_next else text.find(form, start, start + _FARTHEST)
            )
            if found >= 0:
                return found, len(form)
    return -1, 0


def _remember(memory: dict[_Key, _Value], key: _Key, value: _Value) -> None:
    if len(memory) >= _MOST_REMEMBERED:
        del memory[next(iter(memory))]
    memory[key] = value
