"""Samples the next token from the model's logits with llama.cpp's samplers."""

import ctypes as ct
import secrets
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halo_weave.engine.llamacpp.layout import TokenDataArray
from halo_weave.engine.llamacpp.library import Library
from halo_weave.engine.llamacpp.phrase_penalty import PhrasePenalty
from halo_weave.engine.protocol import GenerationSettings

REPEAT_WINDOW = 64
_CANDIDATE = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])


class Sampler:
    """One per generation. Must be closed."""

    def __init__(self, library: Library, settings: GenerationSettings, recent: Sequence[int], vocabulary: int) -> None:
        self._c = library.c
        self._ids = np.arange(vocabulary, dtype=np.int32)
        self._candidates = np.zeros(vocabulary, dtype=_CANDIDATE)
        self._phrases = PhrasePenalty(settings.phrase_penalty)
        self._chain = self._c.llama_sampler_chain_init(self._c.llama_sampler_chain_default_params())
        for part in self._parts(settings):
            self._c.llama_sampler_chain_add(self._chain, part)
        for token_id in recent[-REPEAT_WINDOW:]:
            self._c.llama_sampler_accept(self._chain, token_id)

    def choose(self, logits: NDArray[np.float32]) -> int:
        self._candidates["id"] = self._ids
        self._candidates["logit"] = self._phrases.penalised(logits)
        candidates = TokenDataArray(self._candidates.ctypes.data, len(self._candidates), -1, False)
        self._c.llama_sampler_apply(self._chain, ct.byref(candidates))
        chosen = int(self._candidates["id"][candidates.selected])
        self._c.llama_sampler_accept(self._chain, chosen)
        self._phrases.accept(chosen)
        return chosen

    def close(self) -> None:
        if self._chain:
            self._c.llama_sampler_free(self._chain)
            self._chain = None

    def _parts(self, settings: GenerationSettings) -> list[Any]:
        c = self._c
        parts = []
        if settings.repeat_penalty != 1:
            parts.append(
                c.llama_sampler_init_penalties(len(self._ids), REPEAT_WINDOW, settings.repeat_penalty, 0.0, 0.0)
            )
        if settings.temperature == 0:
            return [*parts, c.llama_sampler_init_greedy()]
        seed = secrets.randbelow(2**32 - 1) if settings.seed is None else settings.seed
        return [
            *parts,
            c.llama_sampler_init_top_k(settings.top_k),
            c.llama_sampler_init_top_p(settings.top_p, 1),
            c.llama_sampler_init_min_p(settings.min_p, 1),
            c.llama_sampler_init_temp(settings.temperature),
            c.llama_sampler_init_dist(seed),
        ]
