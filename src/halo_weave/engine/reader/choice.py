"""Opens the reader that the settings name."""

from collections.abc import Callable
from pathlib import Path

from halo_weave.engine.reader.gguf_reader import open_gguf_reader
from halo_weave.engine.reader.llama_reader import LlamaReader, open_bundled_reader
from halo_weave.engine.reader.settings import ReaderSettings
from halo_weave.errors import EngineUnavailable
from halo_weave.paths import bundled_model_path, cache_folder


def open_reader(
    settings: ReaderSettings,
    notice: Callable[[str], None] = lambda _: None,
    is_stopped: Callable[[], bool] = lambda: False,
) -> LlamaReader:
    """Open the reader, unless it is off. The first time with a model can take minutes. Raises EngineError."""
    if settings.kind == "gguf":
        if not settings.model:
            raise EngineUnavailable(
                "reader.model is empty; set it to the path of a GGUF file, or set reader.kind to bundled."
            )
        return open_gguf_reader(Path(settings.model).expanduser(), cache_folder(), notice, is_stopped)
    return open_bundled_reader(bundled_model_path(), cache_folder())
