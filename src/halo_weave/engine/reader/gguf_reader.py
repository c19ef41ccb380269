"""Opens a reader made from a model of the user's. Its looking head is found once and noted in the cache folder."""

import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from halo_weave.engine.reader.cut_model import write_lower_layers
from halo_weave.engine.reader.head_ranking import RankedHead, chosen_head
from halo_weave.engine.reader.llama_reader import LlamaReader
from halo_weave.engine.reader.looking_head import LookingHead
from halo_weave.engine.reader.lower_half import lower_half
from halo_weave.engine.reader.made_up_quiz import made_up_quiz
from halo_weave.engine.reader.probe import rank_heads
from halo_weave.engine.reader.reading_frame import ReadingFrame
from halo_weave.errors import EngineStopped, EngineUnavailable
from halo_weave.system.derived_file import find_derived, make_derived
from halo_weave.system.file_fingerprint import file_fingerprint

FEWEST_FOUND = 0.15
"""A head whose mean reciprocal rank in the quiz is lower would mislead the search rather than help. Chance: 0.035."""
_PROBE_VERSION = 2
"""Raise it when the quiz, the choice or the keys change: heads are sought again, and texts are read again."""
_FILE_PREFIX = "reader-"


class ProbedModel(msgspec.Struct, frozen=True):
    """What was found out about a model; `problem` says why it cannot be a reader."""

    version: int
    head: LookingHead | None = None
    frame: ReadingFrame | None = None
    problem: str = ""


def open_gguf_reader(
    source: Path,
    cache: Path,
    notice: Callable[[str], None] = lambda _: None,
    is_stopped: Callable[[], bool] = lambda: False,
) -> LlamaReader:
    """Open the reader made from `source`; finds its head and writes its file into `cache` if they are not there.

    Raises EngineError, at once if the model was tried before and cannot be a reader.
    """
    try:
        fingerprint = file_fingerprint(source)
    except OSError as error:
        raise EngineUnavailable(f"The model {source} cannot be read: {error.strerror}.") from error
    notes = cache / f"{_FILE_PREFIX}{fingerprint}.json"
    probed = _noted(notes)
    if probed is None:
        notice(f"Finding the attention head of {source.name} that looks at what a question is about (once, a minute) …")
        probed = probe_model(source, cache, is_stopped)
        _note(notes, probed)
    if probed.head is None or probed.frame is None:
        raise EngineUnavailable(probed.problem)
    path = _cut(source, cache, f"{_FILE_PREFIX}{fingerprint}.{probed.head.layer + 1}-layers", probed.head.layer + 1)
    name = f"{path.stem}:{probed.head}:v{probed.version}"
    return LlamaReader(path, name, probed.head, probed.frame)


def probe_model(source: Path, folder: Path, is_stopped: Callable[[], bool] = lambda: False) -> ProbedModel:
    """Let all heads of the model's lower half answer the quiz. Raises EngineError if it cannot run or was stopped."""

    def stop_if_asked(_: str) -> None:
        if is_stopped():
            raise EngineStopped(f"The search for the looking head of {source.name} was stopped.")

    with lower_half(source, folder) as half:
        ranked = rank_heads(half.path, half.frame, made_up_quiz(), stop_if_asked)
        if problem := _why_not(source, ranked):
            return ProbedModel(_PROBE_VERSION, problem=problem)
        return ProbedModel(_PROBE_VERSION, chosen_head(ranked).head, half.frame)


def _why_not(source: Path, ranked: Sequence[RankedHead]) -> str:
    if not ranked:
        return f"The model {source} cannot be a reader: the keys of its attention cannot be read; choose another model."
    best = max(one.reciprocal_rank for one in ranked)
    if best >= FEWEST_FOUND:
        return ""
    return (
        f"The model {source} cannot be a reader: no head of its lower half finds what a question is about (mean "
        f"reciprocal rank of the best {best:.2f}, needed {FEWEST_FOUND}); choose another model."
    )


def _cut(source: Path, cache: Path, name: str, layers: int) -> Path:
    """Return the file with the layers that are needed. Files of other models are removed; they can be made again."""
    if (path := find_derived(cache, name)) is not None:
        return path
    try:
        path = make_derived(cache, name, lambda target: write_lower_layers(source, target, layers))
    except (OSError, KeyError, ValueError) as error:
        raise EngineUnavailable(f"The reader could not be prepared in {cache}: {error}.") from error
    for other in cache.glob(f"{_FILE_PREFIX}*.gguf"):
        if other != path:
            with suppress(OSError):
                other.unlink()
    return path


def _noted(notes: Path) -> ProbedModel | None:
    try:
        probed = msgspec.json.decode(notes.read_bytes(), type=ProbedModel)
    except (OSError, msgspec.MsgspecError):
        return None
    return probed if probed.version == _PROBE_VERSION else None


def _note(notes: Path, probed: ProbedModel) -> None:
    """Write the notes as a whole or not at all. Without them, the head is sought again next time."""
    with suppress(OSError):
        handle, name = tempfile.mkstemp(prefix=f".{notes.name}-", dir=notes.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(msgspec.json.encode(probed))
        Path(name).replace(notes)
