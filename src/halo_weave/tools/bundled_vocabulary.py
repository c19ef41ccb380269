"""Tokenizes with the bundled model's vocabulary, for programs that have no model loaded."""

import threading

from halo_weave.engine.llamacpp.library import load_library
from halo_weave.engine.llamacpp.model import Model
from halo_weave.paths import bundled_model_path
from halo_weave.records.tokens import Token


class BundledVocabulary:
    """Loaded on first use. Thread-safe."""

    def __init__(self) -> None:
        self._model: Model | None = None
        self._lock = threading.Lock()

    def tokenize(self, text: str) -> list[Token]:
        with self._lock:
            if self._model is None:
                self._model = Model(load_library(), bundled_model_path(), vocabulary_only=True)
            return self._model.vocabulary.tokenize(text)

    def close(self) -> None:
        with self._lock:
            if self._model is not None:
                self._model.close()
                self._model = None
