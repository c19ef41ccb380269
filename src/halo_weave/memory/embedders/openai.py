"""An embedder that uses an OpenAI-compatible server."""

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from halo_weave.engine.openai_client.connection import OpenAIConnection
from halo_weave.engine.openai_client.description import describe
from halo_weave.engine.openai_client.tokenizers import find_tokenizer
from halo_weave.errors import EmbedderError, EngineError
from halo_weave.memory.vectors.unit import Vectors, normalised

_PATH = "/v1/embeddings"
_BATCH_TEXTS = 32
_USUAL_MAX_TOKENS = 512
_SPECIAL_TOKENS = 2


class _Embedding(msgspec.Struct):
    index: int
    embedding: list[float]


class _Embeddings(msgspec.Struct):
    data: list[_Embedding]


class OpenAIEmbedder:
    """The maximum length is the context that the server reports, or 512 tokens; longer texts are cut before sending.

    Tokens are counted by the server's tokenizer, or estimated with the bundled model's if the server has none.
    """

    def __init__(self, url: str, model: str = "", api_key: str = "", *, timeout_s: float = 120.0) -> None:
        self._connection = OpenAIConnection(url, api_key)
        self._server = f"The model server at {self._connection.url}"
        self._timeout_s = timeout_s
        try:
            served = describe(self._connection, model)
            self._tokenizer = find_tokenizer(self._connection, served.id, exact=False)
        except EngineError as error:
            self._connection.close()
            raise EmbedderError(f"No embeddings: {error}") from error
        self._model = served.id
        self.name = f"openai:{served.name}"
        self.max_tokens = served.context or _USUAL_MAX_TOKENS
        try:
            self.dimensions = self._ask(["dimensions"]).shape[1]
        except BaseException:
            self.close()
            raise

    def embed(self, texts: Sequence[str]) -> Vectors:
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        for start in range(0, len(texts), _BATCH_TEXTS):
            answer = self._ask([self._sendable(text) for text in texts[start : start + _BATCH_TEXTS]])
            if answer.shape[1] != self.dimensions:
                raise EmbedderError(
                    f"{self._server} returned vectors of {answer.shape[1]} dimensions instead of {self.dimensions}."
                )
            vectors[start : start + len(answer)] = answer
        return vectors

    def count_tokens(self, text: str) -> int:
        try:
            return len(self._tokenizer.pieces(_whole_characters(text))) + _SPECIAL_TOKENS
        except EngineError as error:
            raise EmbedderError(f"No token count: {error}") from error

    def close(self) -> None:
        self._connection.close()
        self._tokenizer.close()

    def _sendable(self, text: str) -> str:
        """Return the text cut to the maximum length, never empty, because servers reject empty texts."""
        text = _whole_characters(text)
        while len(text.encode()) > self.max_tokens - _SPECIAL_TOKENS:  # a token has at least one byte
            tokens = self.count_tokens(text)
            if tokens <= self.max_tokens:
                break
            text = text[: len(text) * self.max_tokens // (tokens + 1)]
        return text or " "

    def _ask(self, texts: list[str]) -> Vectors:
        body = {"input": texts, "encoding_format": "float", **({"model": self._model} if self._model else {})}
        try:
            answer = self._connection.post(_PATH, body, _Embeddings, timeout_s=self._timeout_s)
        except EngineError as error:
            raise EmbedderError(f"No embeddings: {error}") from error
        return normalised(self._in_order(answer.data, len(texts)), self._server)

    def _in_order(self, found: list[_Embedding], count: int) -> NDArray[np.float64]:
        if sorted(entry.index for entry in found) != list(range(count)):
            raise EmbedderError(
                f"{self._server} returned {len(found)} vectors for {count} texts, or in an unclear order."
            )
        dimensions = {len(entry.embedding) for entry in found}
        if len(dimensions) != 1 or dimensions == {0}:
            raise EmbedderError(f"{self._server} returned vectors of different dimensions: {sorted(dimensions)}.")
        ordered = sorted(found, key=lambda entry: entry.index)
        return np.array([entry.embedding for entry in ordered], dtype=np.float64)


def _whole_characters(text: str) -> str:
    """Replace unpaired surrogates, which cannot be encoded."""
    return text.encode(errors="replace").decode()
