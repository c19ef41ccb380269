"""The lower half of a model, in which the looking head is sought: a reader must cost less than its model."""

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from halo_weave.engine.llamacpp.library import load_library
from halo_weave.engine.llamacpp.model import Model
from halo_weave.engine.reader.cut_model import layer_count, write_lower_layers
from halo_weave.engine.reader.reading_frame import ReadingFrame, frame_of
from halo_weave.errors import EngineUnavailable

_TEMPORARY = ".lower-half-"
_ABANDONED_AFTER_S = 3600


class LowerHalf(NamedTuple):
    path: Path
    frame: ReadingFrame


@contextmanager
def lower_half(source: Path, folder: Path) -> Iterator[LowerHalf]:
    """Write the lower half of a model to a temporary file in `folder`. Raises EngineUnavailable."""
    with closing(Model(load_library(), source, vocabulary_only=True)) as model:
        if reason := model.why_no_chat():
            raise EngineUnavailable(f"The model {source} cannot be a reader: {reason}.")
        frame = frame_of(model.chat_template())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(folder)
        with tempfile.TemporaryDirectory(prefix=_TEMPORARY, dir=folder) as temporary:
            path = Path(temporary) / source.name
            write_lower_layers(source, path, (layer_count(source) + 1) // 2)
            yield LowerHalf(path, frame)
    except (OSError, KeyError, ValueError, NotImplementedError) as error:
        raise EngineUnavailable(f"The model {source} cannot be a reader: {error}.") from error


def _remove_abandoned(folder: Path) -> None:
    """Remove what killed processes left behind, but nothing that may still be in use."""
    for path in folder.glob(f"{_TEMPORARY}*"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > _ABANDONED_AFTER_S:
                shutil.rmtree(path)
