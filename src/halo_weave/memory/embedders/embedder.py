"""The embedder protocol: turns texts into vectors, so that similar meanings have similar vectors."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Literal, Protocol

import msgspec

from halo_weave.errors import SettingError
from halo_weave.memory.embedders import minilm
from halo_weave.memory.embedders.gguf import GgufEmbedder
from halo_weave.memory.embedders.openai import OpenAIEmbedder
from halo_weave.memory.vectors.unit import Vectors
from halo_weave.paths import bundled_minilm_folder, cache_folder

LoadingNotice = Callable[[str], None]
"""Receives a progress message for the user."""
EmbedderKind = Literal["minilm", "gguf", "openai"]


class EmbedderSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    kind: Annotated[
        EmbedderKind,
        msgspec.Meta(
            description="Model that compares texts by meaning: minilm is the bundled one, gguf runs embedder.model in "
            "this process, openai uses the server at embedder.url."
        ),
    ] = "minilm"
    model: Annotated[
        str, msgspec.Meta(description="Path of a GGUF embedding model, or the model's name on the server.")
    ] = ""
    url: Annotated[str, msgspec.Meta(description="Address of the embedding server; required for openai.")] = ""
    api_key: Annotated[str, msgspec.Meta(description="API key for the embedding server, if it asks for one.")] = ""


class Embedder(Protocol):
    @property
    def name(self) -> str:
        """Identity stored with every vector. Vectors with different names are never compared."""
        ...

    @property
    def dimensions(self) -> int: ...

    @property
    def max_tokens(self) -> int:
        """Maximum text length in tokens, including special tokens. The rest of a longer text is ignored."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit-length row per text, in order: shape [texts, dimensions]."""
        ...

    def count_tokens(self, text: str) -> int:
        """Count the tokens of the whole text, including special tokens, for comparison with `max_tokens`."""
        ...

    def close(self) -> None: ...


def open_embedder(settings: EmbedderSettings, on_progress: LoadingNotice | None = None) -> Embedder:
    """Open the embedder that the settings name. `on_progress` receives messages during slow work."""
    if settings.kind == "openai":
        return OpenAIEmbedder(settings.url, settings.model, settings.api_key)
    if settings.kind == "gguf":
        if not settings.model:
            raise SettingError(
                "embedder.model is empty; set it to the path of a GGUF file, or set embedder.kind to minilm."
            )
        return GgufEmbedder(Path(settings.model).expanduser())
    path = minilm.converted_minilm(bundled_minilm_folder(), cache_folder(), on_progress)
    return GgufEmbedder(path, name=minilm.NAME, max_tokens=minilm.MAX_TOKENS)
