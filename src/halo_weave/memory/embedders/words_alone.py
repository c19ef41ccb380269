"""What stands in for an embedder where none can be used: nothing has vectors of it, so that words alone decide."""

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
