"""An embedder that runs any GGUF embedding model in this process."""

from collections.abc import Sequence
from pathlib import Path

from halo_weave.engine.llamacpp.embedding_model import EmbeddingModel
from halo_weave.memory.vectors.unit import Vectors, normalised
from halo_weave.system.file_fingerprint import file_fingerprint


class GgufEmbedder:
    def __init__(self, path: Path, *, name: str = "", max_tokens: int = 0, threads: int = 0) -> None:
        """`name` defaults to the file name plus a digest of the file's size, beginning and end."""
        self._path = path
        self._model = EmbeddingModel(path, max_tokens=max_tokens, threads=threads)
        self.name = name or f"gguf:{path.stem}:{file_fingerprint(path)}"
        self.dimensions = self._model.dimensions
        self.max_tokens = self._model.max_tokens

    def embed(self, texts: Sequence[str]) -> Vectors:
        return normalised(self._model.embed(texts), f"The embedding model {self._path}")

    def count_tokens(self, text: str) -> int:
        return len(self._model.tokenize(text))

    def close(self) -> None:
        self._model.close()
