"""A stand-in for when no embedder is available: no chunk has a vector by it, so only words decide."""

from collections.abc import Sequence

import numpy as np

from halo_weave.memory.vectors.unit import Vectors


class WordsAlone:
    name, dimensions, max_tokens = "words alone", 1, 1

    def embed(self, texts: Sequence[str]) -> Vectors:
        return np.zeros((len(texts), self.dimensions), dtype=np.float32)

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def close(self) -> None:
        pass
