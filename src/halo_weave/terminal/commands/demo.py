"""`halo-weave demo`: the page with a made-up half year of conversations, which is deleted at the end.

Everything is in one folder below the cache folder: memory, settings, captures. The folder takes the place of HALO_HOME,
so nothing of the person's own is written to. If the program is killed, the folder stays until the next demo begins.
"""

import os
import shutil
from collections.abc import Mapping
from contextlib import closing, suppress
from datetime import datetime
from pathlib import Path

from halo_weave import paths
from halo_weave.config import Settings
from halo_weave.demo.filling import fill
from halo_weave.demo.script import demo_exchanges
from halo_weave.engine.llamacpp.library import load_library
from halo_weave.engine.llamacpp.model import Model
from halo_weave.memory.memory import open_memory
from halo_weave.server import running
from halo_weave.server.runtime.program import layers_of
from halo_weave.server.runtime.temporary_files import TemporaryFiles
from halo_weave.session.window.words import ChunkSizes
from halo_weave.system.private_files import make_private_folder
from halo_weave.terminal import output
from halo_weave.weave.brightness.choosing import make_scorer


def run(overrides: Mapping[str, str], *, port: int | None, opens_browser: bool) -> int:
    parent = paths.cache_folder() / "demo"
    make_private_folder(parent)
    temporary = TemporaryFiles(parent)
    try:
        home = temporary.folder()
        _move_into(home)
        layers = layers_of({**overrides, "memory.path": str(home / "halo.db")})
        settings = layers.load()
        output.notice("Writing half a year of made-up conversations ...")
        _fill(settings)
        output.notice(f"The demo is in {home} and will be deleted when it ends. Your own memory is not touched.")
        return running.run(
            layers.overrides,
            host=running.DEFAULT_HOST,
            port=port,
            opens_browser=opens_browser,
            at_end=temporary.close,
        )
    finally:
        temporary.close()


def _move_into(home: Path) -> None:
    """Let this folder be HALO_HOME, with a copy of the person's settings and with their cache."""
    own_settings, cache = paths.config_file(), paths.cache_folder()
    if own_settings.is_file():
        shutil.copyfile(own_settings, home / own_settings.name)
    with suppress(OSError):  # without links, the embedding model is converted once more
        (home / "cache").symlink_to(cache, target_is_directory=True)
    os.environ[paths.HOME_VARIABLE] = str(home)


def _fill(settings: Settings) -> None:
    sizes = ChunkSizes(settings.memory.chunk_min_tokens, settings.memory.chunk_max_tokens)
    exchanges = demo_exchanges(datetime.now().astimezone())
    with (
        closing(Model(load_library(), paths.bundled_model_path(), vocabulary_only=True)) as model,
        closing(open_memory(settings.memory.file, settings.embedder, settings.search)) as memory,
    ):
        fill(
            memory,
            exchanges,
            tokenize=model.vocabulary.tokenize,
            model=model.name,
            sizes=sizes,
            scorer=make_scorer(settings.brightness),
        )
