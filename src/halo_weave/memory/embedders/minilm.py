"""all-MiniLM-L6-v2 as a GGUF file: converted once from the published weights and kept in the cache folder."""

from collections.abc import Callable
from pathlib import Path

from halo_weave.errors import EmbedderError
from halo_weave.system.derived_file import find_derived, make_derived

NAME = "all-MiniLM-L6-v2"
MAX_TOKENS = 256
"""The length used in training; the weights would accept 512."""

_FORMAT_VERSION = 1
_FILE_NAME = f"{NAME.lower()}.v{_FORMAT_VERSION}"


def converted_minilm(source: Path, cache: Path, on_progress: Callable[[str], None] | None = None) -> Path:
    """Return the GGUF file in `cache`, converted from the published files in `source` if no intact one exists."""
    if found := find_derived(cache, _FILE_NAME):
        return found
    if on_progress is not None:
        on_progress(f"Preparing the embedding model {NAME} (once, a few seconds) …")
    try:
        path = make_derived(cache, _FILE_NAME, lambda target: _convert(source, target))
    except (OSError, KeyError, ValueError) as error:
        raise EmbedderError(f"The embedding model {NAME} could not be prepared in {cache}: {error}.") from error
    if on_progress is not None:
        on_progress(f"Embedding model ready: {path}")
    return path


def _convert(source: Path, target: Path) -> None:
    # Needed once per installation, and slow to import.
    from halo_weave.memory.embedders.minilm_conversion import convert

    convert(source, target, name=NAME)
