"""Vectors of length 1, whose dot product is their cosine."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from halo_weave.errors import EmbedderError

Vector = NDArray[np.float32]
Vectors = NDArray[np.float32]
"""Shape [texts, dimensions]."""


def normalised(vectors: NDArray[np.floating[Any]], source: str) -> Vectors:
    """Scale vectors to length 1; `source` names the origin in error messages."""
    if not np.isfinite(vectors).all():
        raise EmbedderError(f"{source} returned a vector with values that are not finite.")
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    if not largest.all():
        raise EmbedderError(f"{source} returned a vector of zeros.")
    scaled = (vectors / largest).astype(np.float64)  # squares of very large values would overflow
    result: Vectors = (scaled / np.linalg.norm(scaled, axis=1, keepdims=True)).astype(np.float32)
    return result
