"""A GGUF embedding model run by llama.cpp: takes texts and returns one pooled vector for each."""

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halo_weave.engine.llamacpp.layout import POOLING_MEAN, POOLING_UNSPECIFIED
from halo_weave.engine.llamacpp.library import Library, default_threads, load_library
from halo_weave.engine.llamacpp.model import Model
from halo_weave.errors import EmbedderError, EngineUnavailable

# The cost of attention grows with the square of a batch's tokens, so several small batches beat one large one.
_BATCH_TOKENS = 512
_BATCH_SEQUENCES = 64
_LONGEST_SEQUENCE = 2048
_POOLING_NONE = 0
_POOLING_RANK = 4


class EmbeddingModel:
    """`max_tokens` limits a sequence, including special tokens; 0 means the trained context, up to 2,048.

    Thread-safe; calls run one at a time.
    """

    def __init__(self, path: Path, *, max_tokens: int = 0, threads: int = 0, gpu_layers: int = -1) -> None:
        self._library = load_library()
        self._c = self._library.c
        self._lock = threading.Lock()
        self._context: int | None = None
        try:
            self._model = Model(self._library, path, gpu_layers=gpu_layers)
        except EngineUnavailable as error:
            raise EmbedderError(str(error)) from error
        try:
            self.max_tokens = min(max_tokens or _LONGEST_SEQUENCE, self._model.trained_context)
            self.dimensions: int = self._c.llama_model_n_embd_out(self._model.address)
            self._batch_tokens = max(_BATCH_TOKENS, self.max_tokens)
            self._context = self._open_pooling_context(path, threads or default_threads())
            self._ending = self._special_ending()
        except BaseException:
            self.close()
            raise

    def tokenize(self, text: str) -> list[int]:
        """Return all ids of a text, including the model's special tokens."""
        with self._lock:
            self._require_open()
            return self._model.vocabulary.ids(text, framed=True)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one vector per text, as pooled by the model, not normalised."""
        vectors = np.empty((len(texts), self.dimensions), dtype=np.float32)
        with self._lock:
            self._require_open()
            sequences = [self._cut(self._model.vocabulary.ids(text, framed=True)) for text in texts]
            for batch in _batches([len(sequence) for sequence in sequences], self._batch_tokens):
                self._run([sequences[index] for index in batch], vectors[batch.start : batch.stop])
        return vectors

    def close(self) -> None:
        with self._lock:
            if self._context:
                self._c.llama_free(self._context)
            self._context = None
            self._model.close()

    def _require_open(self) -> None:
        if self._context is None:
            raise EmbedderError("The embedding model has been closed.")

    def _open_pooling_context(self, path: Path, threads: int) -> int:
        context = self._open_context(path, threads, POOLING_UNSPECIFIED)
        pooling: int = self._c.llama_pooling_type(context)
        if pooling == _POOLING_NONE:
            self._c.llama_free(context)
            return self._open_context(path, threads, POOLING_MEAN)
        if pooling == _POOLING_RANK:
            self._c.llama_free(context)
            raise EmbedderError(f"{path} is a reranking model without vectors; choose an embedding model.")
        return context

    def _open_context(self, path: Path, threads: int, pooling: int) -> int:
        parameters = self._c.llama_context_default_params()
        # Bidirectional attention needs all tokens of a sequence in one physical batch.
        parameters.n_ctx = parameters.n_batch = parameters.n_ubatch = self._batch_tokens
        parameters.n_seq_max = _BATCH_SEQUENCES
        parameters.n_outputs_max_per_seq = 0
        parameters.kv_unified = True
        parameters.embeddings = True
        parameters.pooling_type = pooling
        parameters.n_threads = parameters.n_threads_batch = threads
        self._library.forget_complaints()
        context: int | None = self._c.llama_init_from_model(self._model.address, parameters)
        if not context:
            raise EmbedderError(f"{path} cannot be run as an embedding model{_complaint(self._library)}.")
        return context

    def _special_ending(self) -> list[int]:
        """Return the special tokens that end every sequence; a truncated sequence must keep them."""
        bare, closed = self._model.vocabulary.ids("a"), self._model.vocabulary.ids("a", framed=True)
        if not bare or bare[-1] not in closed:
            return []
        return closed[len(closed) - closed[::-1].index(bare[-1]) :]

    def _cut(self, ids: list[int]) -> list[int]:
        if not ids:  # an empty text in a vocabulary without special tokens
            return [self._model.vocabulary.special_tokens.eos or 0]
        if len(ids) <= self.max_tokens:
            return ids
        return ids[: self.max_tokens - len(self._ending)] + self._ending

    def _run(self, sequences: list[list[int]], vectors: NDArray[np.float32]) -> None:
        batch = self._c.llama_batch_init(self._batch_tokens, 0, 1)
        try:
            _fill(batch, sequences)
            memory = self._c.llama_get_memory(self._context)
            if memory:
                self._c.llama_memory_clear(memory, False)
            run = self._c.llama_decode if memory else self._c.llama_encode
            if (failure := run(self._context, batch)) != 0:
                raise EmbedderError(f"The embedding model failed with code {failure}{_complaint(self._library)}.")
            for sequence, row in enumerate(vectors):
                row[:] = self._pooled(sequence)
        finally:
            self._c.llama_batch_free(batch)

    def _pooled(self, sequence: int) -> NDArray[np.float32]:
        address = self._c.llama_get_embeddings_seq(self._context, sequence)
        if not address:
            raise EmbedderError("The embedding model returned no vector for a text.")
        return np.ctypeslib.as_array(address, shape=(self.dimensions,))


def _fill(batch: Any, sequences: list[list[int]]) -> None:
    at = 0
    for sequence, ids in enumerate(sequences):
        for place, token_id in enumerate(ids):
            batch.token[at] = token_id
            batch.pos[at] = place
            batch.n_seq_id[at] = 1
            batch.seq_id[at][0] = sequence
            batch.logits[at] = 1
            at += 1
    batch.n_tokens = at


def _batches(lengths: Sequence[int], tokens: int) -> Iterator[range]:
    """Yield ranges of neighbouring sequences that fit into one batch together."""
    start = filled = 0
    for index, length in enumerate(lengths):
        if index > start and (filled + length > tokens or index - start == _BATCH_SEQUENCES):
            yield range(start, index)
            start, filled = index, 0
        filled += length
    if start < len(lengths):
        yield range(start, len(lengths))


def _complaint(library: Library) -> str:
    complaint = library.last_complaint()
    return f" ({complaint})" if complaint else ""
