"""One llama.cpp context: decodes batches and moves the rows of its cache.

Places are consecutive: token i of a context is at place i, whatever its absolute position. Tokens belong to sequences.
MAIN is the context itself; the others hold work in progress and are empty between calls.
"""

import ctypes as ct
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from halo_weave.engine.llamacpp.attention import Listen
from halo_weave.engine.llamacpp.layout import FLASH_ATTENTION_AUTO, FLASH_ATTENTION_OFF, Batch
from halo_weave.engine.llamacpp.model import Model
from halo_weave.errors import EngineError

MAIN, INSERTION, RESTORATION = range(3)
BATCH_TOKENS = 512
_BEYOND_ALL_PLACES = 2**31 - 2


class GraphTap(Protocol):
    """Sees the nodes of the graph while they are computed. `callback` and `user_data` are the library's."""

    @property
    def callback(self) -> Any: ...

    @property
    def user_data(self) -> Any: ...

    def start(self, listen: Listen) -> None: ...

    def finish(self) -> None: ...


class Computation:
    def __init__(
        self, model: Model, *, cells: int, threads: int, tap: GraphTap | None, flash_attention: bool = False
    ) -> None:
        self._model = model
        self._c = model.library.c
        self._tap = tap
        params = self._c.llama_context_default_params()
        params.n_ctx = cells
        params.n_batch = params.n_ubatch = BATCH_TOKENS
        params.n_seq_max = 3
        params.kv_unified = True  # otherwise a partial copy between sequences aborts the process
        params.n_threads = params.n_threads_batch = threads
        params.flash_attn_type = FLASH_ATTENTION_AUTO if flash_attention else FLASH_ATTENTION_OFF
        if tap is not None:
            params.cb_eval = tap.callback
            params.cb_eval_user_data = tap.user_data
        model.library.forget_complaints()
        self._address = self._c.llama_init_from_model(model.address, params)
        if not self._address:
            reason = model.library.last_complaint() or "the library gave no reason"
            raise EngineError(f"Cannot create a context of {cells} tokens for {model.name}: {reason}.")
        self._memory = self._c.llama_get_memory(self._address)
        self._batch = _Batch()

    @property
    def has_memory(self) -> bool:
        """Whether a token can build on those decoded before. False for models that read a text as a whole."""
        return bool(self._memory)

    @property
    def can_shift(self) -> bool:
        return bool(self._c.llama_memory_can_shift(self._memory))

    def decode(
        self, ids: Sequence[int], place: int, sequence: int, listen: Listen = "cells", *, all_logits: bool = False
    ) -> None:
        """Decode one batch of tokens, starting at `place`, the first free place of the sequence.

        `all_logits` computes logits for every token instead of only the last.
        """
        if self._tap is not None:
            self._tap.start(listen)
        code = self._c.llama_decode(self._address, self._batch.fill(ids, place, sequence, all_logits))
        if code != 0:
            raise EngineError(f"The model failed to read {len(ids)} tokens at index {place} (code {code}).")
        if self._tap is not None:
            self._tap.finish()

    def logits(self, token: int = -1) -> NDArray[np.float32]:
        """Return a copy of the logits of the last decoded token, or of another of its batch after `all_logits`."""
        pointer = self._c.llama_get_logits_ith(self._address, token)
        return np.ctypeslib.as_array(pointer, (self._model.vocabulary.size,)).copy()

    def clear(self) -> None:
        self._c.llama_memory_clear(self._memory, False)

    def remove(self, sequence: int, start: int, end: int = -1) -> bool:
        return bool(self._c.llama_memory_seq_rm(self._memory, sequence, start, end))

    def copy(self, source: int, target: int, start: int = -1, end: int = -1) -> None:
        self._c.llama_memory_seq_cp(self._memory, source, target, start, end)

    def shift(self, sequence: int, start: int, end: int, by: int) -> None:
        """Move tokens to other places. The keys follow at the next decode, so decode before saving."""
        self._c.llama_memory_seq_add(self._memory, sequence, start, end, by)

    def fill_from_first_cell(self) -> None:
        """Make the next tokens go to the lowest free cells.

        The search for free cells starts where the last search ended. Any shift, even of no tokens, resets it.
        """
        self.shift(MAIN, _BEYOND_ALL_PLACES, -1, 1)

    def save(self, start: int, end: int) -> NDArray[np.uint8]:
        """Return the state of the places [start, end) of MAIN, in the order of their cells."""
        self.copy(MAIN, RESTORATION, start, end)
        blob = np.empty(self._c.llama_state_seq_get_size(self._address, RESTORATION), dtype=np.uint8)
        size = self._c.llama_state_seq_get_data(self._address, blob.ctypes.data, blob.nbytes, RESTORATION)
        self.remove(RESTORATION, -1)
        return blob[:size]

    def restore(self, blob: NDArray[np.uint8]) -> bool:
        """Load a saved state into RESTORATION, at its original places. Returns False if it does not fit."""
        size = self._c.llama_state_seq_set_data(self._address, blob.ctypes.data, blob.nbytes, RESTORATION)
        return bool(size == blob.nbytes)

    def close(self) -> None:
        if self._address:
            self._c.llama_free(self._address)
            self._address = None


class _Batch:
    """The arrays of a batch, reused for each call."""

    def __init__(self) -> None:
        self._ids = np.zeros(BATCH_TOKENS, dtype=np.int32)
        self._places = np.zeros(BATCH_TOKENS, dtype=np.int32)
        self._sequence_counts = np.ones(BATCH_TOKENS, dtype=np.int32)
        self._sequence = ct.c_int32(MAIN)
        self._sequences = (ct.POINTER(ct.c_int32) * BATCH_TOKENS)(*[ct.pointer(self._sequence)] * BATCH_TOKENS)
        self._wants_logits = np.zeros(BATCH_TOKENS, dtype=np.int8)
        self._struct = Batch(
            token=self._ids.ctypes.data_as(ct.POINTER(ct.c_int32)),
            pos=self._places.ctypes.data_as(ct.POINTER(ct.c_int32)),
            n_seq_id=self._sequence_counts.ctypes.data_as(ct.POINTER(ct.c_int32)),
            seq_id=ct.cast(self._sequences, ct.POINTER(ct.POINTER(ct.c_int32))),
            logits=self._wants_logits.ctypes.data_as(ct.POINTER(ct.c_int8)),
        )

    def fill(self, ids: Sequence[int], place: int, sequence: int, all_logits: bool) -> Batch:
        count = len(ids)
        self._ids[:count] = ids
        self._places[:count] = np.arange(place, place + count)
        self._wants_logits[:] = all_logits
        self._wants_logits[count - 1] = 1
        self._sequence.value = sequence
        self._struct.n_tokens = count
        return self._struct
