"""Tokenizers: the server's own, over either of the two known APIs, or the bundled model's."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple, Protocol

import msgspec

from halo_weave.engine.llamacpp.library import load_library
from halo_weave.engine.llamacpp.model import Model
from halo_weave.engine.openai_client.connection import OpenAIConnection
from halo_weave.engine.openai_client.messages import FIRST_OWN_ID
from halo_weave.errors import EngineProtocolError
from halo_weave.paths import bundled_model_path

_PROBE = "Aé 日本\n1 two"
_ANCHOR = "\n"


class Piece(NamedTuple):
    id: int
    bytes: bytes


class ServerTokenizer(Protocol):
    def pieces(self, text: str) -> list[Piece]:
        """Return the tokens of a text, treating marks as plain text. Their joined bytes may differ from the text."""
        ...

    def text_bytes(self, token_ids: Sequence[int]) -> bytes: ...

    def close(self) -> None: ...


def find_tokenizer(connection: OpenAIConnection, model: str, *, exact: bool = True) -> ServerTokenizer:
    """Return the server's tokenizer if it has one, otherwise the bundled model's.

    `exact` requires a lossless tokenizer. Those of many embedding models are not and serve only for counting.
    """
    candidates: list[ServerTokenizer] = [
        LlamaServerTokenizer(connection),
        VllmTokenizer(connection, model, _spelled_in_bytes),
        VllmTokenizer(connection, model, _spelled_in_words),
    ]
    for found in candidates:
        try:
            pieces = found.pieces(_PROBE)
        except EngineProtocolError:
            continue
        if not exact or b"".join(piece.bytes for piece in pieces).removeprefix(b" ") == _PROBE.encode():
            return found
    return LocalTokenizer()


class LocalTokenizer:
    """The bundled model's vocabulary. For any other model its counts are estimates."""

    def __init__(self) -> None:
        self._model = Model(load_library(), bundled_model_path(), vocabulary_only=True)

    def pieces(self, text: str) -> list[Piece]:
        vocabulary = self._model.vocabulary
        return [Piece(token.id, vocabulary.piece(token.id)) for token in vocabulary.tokenize(text)]

    def text_bytes(self, token_ids: Sequence[int]) -> bytes:
        return b"".join(map(self._model.vocabulary.piece, token_ids))

    def close(self) -> None:
        self._model.close()


class _LlamaServerToken(msgspec.Struct):
    id: int
    piece: str | list[int]


class _LlamaServerTokens(msgspec.Struct):
    tokens: list[_LlamaServerToken]


class _LlamaServerText(msgspec.Struct):
    content: str


class LlamaServerTokenizer:
    """The tokenizer of llama.cpp's server."""

    def __init__(self, connection: OpenAIConnection) -> None:
        self._connection = connection

    def pieces(self, text: str) -> list[Piece]:
        body = {"content": text, "add_special": False, "parse_special": False, "with_pieces": True}
        answer = self._connection.post("/tokenize", body, _LlamaServerTokens)
        return [Piece(_checked(token.id), _bytes_of(token.piece)) for token in answer.tokens]

    def text_bytes(self, token_ids: Sequence[int]) -> bytes:
        answer = self._connection.post("/detokenize", {"tokens": list(token_ids)}, _LlamaServerText)
        return answer.content.encode()

    def close(self) -> None:
        pass


class _VllmTokens(msgspec.Struct):
    tokens: list[int]
    token_strs: list[str]


class _VllmText(msgspec.Struct):
    prompt: str


class VllmTokenizer:
    """The tokenizer of vLLM, which returns tokens as spelled in the vocabulary; `spelled` converts that to bytes."""

    def __init__(self, connection: OpenAIConnection, model: str, spelled: Callable[[str], bytes]) -> None:
        self._connection = connection
        self._model = model
        self._spelled = spelled
        self._anchor: tuple[list[int], str] | None = None

    def pieces(self, text: str) -> list[Piece]:
        body = {"prompt": text, "add_special_tokens": False, "return_token_strs": True}
        answer = self._connection.post("/tokenize", self._for_model(body), _VllmTokens)
        if len(answer.tokens) != len(answer.token_strs):
            raise EngineProtocolError(f"The model server at {self._connection.url} does not name each of its tokens.")
        pairs = zip(answer.tokens, answer.token_strs, strict=True)
        return [Piece(_checked(token_id), self._spelled(name)) for token_id, name in pairs]

    def text_bytes(self, token_ids: Sequence[int]) -> bytes:
        # vLLM drops the space before the first word, so known text goes before ours.
        if self._anchor is None:
            anchor_ids = [piece.id for piece in self.pieces(_ANCHOR)]
            self._anchor = anchor_ids, self._text(anchor_ids)
        anchor_ids, anchor_text = self._anchor
        return self._text([*anchor_ids, *token_ids]).removeprefix(anchor_text).encode()

    def close(self) -> None:
        pass

    def _text(self, token_ids: list[int]) -> str:
        return self._connection.post("/detokenize", self._for_model({"tokens": token_ids}), _VllmText).prompt

    def _for_model(self, body: dict[str, Any]) -> dict[str, Any]:
        return {**body, "model": self._model} if self._model else body


def _spelled_in_words(name: str) -> bytes:
    """Decode SentencePiece spelling: ▁ for a space, and single bytes as <0x0A>."""
    if len(name) == 6 and name.startswith("<0x") and name.endswith(">"):
        try:
            return bytes([int(name[3:5], 16)])
        except ValueError:
            pass
    return name.replace("▁", " ").encode(errors="replace")


def _spelled_in_bytes(name: str) -> bytes:
    """Decode byte-level BPE spelling: one printable character per byte."""
    try:
        return bytes(_byte_of_character()[character] for character in name)
    except KeyError:
        return name.encode(errors="replace")


@cache
def _byte_of_character() -> dict[str, int]:
    """Printable Latin-1 bytes stand for themselves; the others map, in order, to the characters from U+0100."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {
        **{chr(byte): byte for byte in printable},
        **{chr(0x100 + index): byte for index, byte in enumerate(others)},
    }


def _bytes_of(piece: str | list[int]) -> bytes:
    if isinstance(piece, str):
        return piece.encode(errors="replace")
    try:
        return bytes(piece)
    except ValueError as error:
        raise EngineProtocolError(f"The model server sent the token text {piece}, which is not bytes.") from error


def _checked(token_id: int) -> int:
    if not 0 <= token_id < FIRST_OWN_ID:
        raise EngineProtocolError(f"The model server sent the token id {token_id}, which no vocabulary contains.")
    return token_id
