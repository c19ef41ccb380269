"""A context of the reader: reads tokens and returns the keys or queries of some layers."""

from collections.abc import Collection, Sequence

import numpy as np

from halo_weave.engine.llamacpp.computation import BATCH_TOKENS, MAIN, Computation
from halo_weave.engine.llamacpp.model import Model
from halo_weave.engine.llamacpp.projections import Projected, Projection, ProjectionTap


class LayerComputation:
    def __init__(
        self, model: Model, layers: Collection[int], *, cells: int, threads: int, skips_missing: bool = False
    ) -> None:
        self._tap = ProjectionTap(model, layers, skips_missing=skips_missing)
        self._computation = Computation(model, cells=cells, threads=threads, tap=self._tap, flash_attention=True)

    def run(self, ids: Sequence[int], wanted: Projection) -> dict[int, Projected]:
        """Read tokens without anything before them, and return their projections by layer: [tokens, heads × size]."""
        self._tap.wanted = wanted
        self._computation.clear()
        parts = []
        for start in range(0, len(ids), BATCH_TOKENS):
            self._computation.decode(ids[start : start + BATCH_TOKENS], start, MAIN)
            parts.append(self._tap.found)
        return {layer: np.concatenate([part[layer] for part in parts]) for layer in parts[0]}

    def close(self) -> None:
        self._computation.close()
