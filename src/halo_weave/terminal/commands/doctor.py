"""`halo-weave doctor`: reports, in plain words, what this machine has and whether chat works."""

import contextlib
import os
import platform
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from halo_weave import __version__, paths
from halo_weave.config import Settings
from halo_weave.engine import turns
from halo_weave.engine.factory import open_engine
from halo_weave.engine.model_defaults import model_defaults
from halo_weave.engine.protocol import Abilities, Ability, Engine, GenerationSettings, Placed
from halo_weave.engine.settings import EngineSettings
from halo_weave.errors import EmbedderError, HaloError
from halo_weave.memory.embedders.embedder import EmbedderSettings
from halo_weave.terminal import output
from halo_weave.terminal.commands.memory_health import MemoryFinding, examine_memory, memory_in_words
from halo_weave.text.server_address import without_password

_SAMPLING = ("temperature", "top_p", "top_k", "min_p", "repeat_penalty", "phrase_penalty")
_SOURCES = {"default": "default", "model": "default of this model", "chosen": "your setting"}


class LibraryFinding(msgspec.Struct, frozen=True):
    package: str = ""
    version: str = ""
    path: str = ""
    problem: str = ""


class EngineFinding(msgspec.Struct, frozen=True):
    """`reply_seconds` is the time from the request to the end of a one-token answer."""

    kind: str
    place: str = ""
    name: str = ""
    trained_context: int = 0
    usable_context: int = 0
    layers: int = 0
    heads: int = 0
    abilities: Abilities | None = None
    reply_seconds: float | None = None
    problem: str = ""


class SamplingFinding(msgspec.Struct, frozen=True):
    """A sampling setting as this model uses it, and where its value comes from."""

    name: str
    value: float | int
    source: Literal["default", "model", "chosen"]


class EmbedderFinding(msgspec.Struct, frozen=True):
    kind: str
    place: str = ""
    state: str = ""
    problem: str = ""


class FolderFinding(msgspec.Struct, frozen=True):
    path: str
    exists: bool
    writable: bool


class Report(msgspec.Struct, frozen=True):
    program: str
    python: str
    system: str
    library: LibraryFinding
    engine: EngineFinding
    sampling: list[SamplingFinding]
    embedder: EmbedderFinding
    memory: MemoryFinding
    data_folder: FolderFinding
    config_file: FolderFinding
    cache_folder: FolderFinding
    free_disk_bytes: int
    can_chat: bool
    way_out: str


def run(settings: Settings, *, as_json: bool) -> int:
    output.survive_any_encoding()
    report = examine(settings)
    if as_json:
        output.write_line(msgspec.json.format(msgspec.json.encode(report)).decode())
    else:
        output.write_line("\n".join(in_words(report)))
    return 0 if report.can_chat and not report.memory.problem else 1


def examine(settings: Settings) -> Report:
    engine = _examine_engine(settings.engine)
    data = paths.data_folder()
    return Report(
        program=__version__,
        python=platform.python_version(),
        system=platform.platform(),
        library=_examine_library(),
        engine=engine,
        sampling=_examine_sampling(settings, engine.name),
        embedder=_examine_embedder(settings.embedder),
        memory=examine_memory(settings),
        data_folder=_examine_place(data),
        config_file=_examine_place(paths.config_file()),
        cache_folder=_examine_place(paths.cache_folder()),
        free_disk_bytes=shutil.disk_usage(_nearest_existing(data)).free,
        can_chat=not engine.problem,
        way_out=_way_out(settings.engine) if engine.problem else "",
    )


def in_words(report: Report) -> Iterator[str]:
    yield f"Halo Weave {report.program}, Python {report.python}, {report.system}"
    yield _library_in_words(report.library)
    yield from _engine_in_words(report.engine)
    yield _sampling_in_words(report.sampling)
    yield _embedder_in_words(report.embedder)
    yield from memory_in_words(report.memory)
    yield f"Data folder: {_place_in_words(report.data_folder)}, {report.free_disk_bytes / 1e9:,.1f} GB free on its disk"
    yield f"Config file: {_place_in_words(report.config_file)}"
    yield f"Cache folder: {_place_in_words(report.cache_folder)}"
    if report.can_chat:
        yield "Chat works."
    else:
        yield f"Chat does not work: {report.engine.problem}"
        yield f"What to do: {report.way_out}"


def _examine_library() -> LibraryFinding:
    from halo_weave.engine.llamacpp.library import load_library

    try:
        library = load_library()
    except HaloError as error:
        return LibraryFinding(problem=str(error))
    return LibraryFinding(package=library.package, version=library.version, path=str(library.path))


def _examine_engine(settings: EngineSettings) -> EngineFinding:
    finding = EngineFinding(kind=settings.kind)
    try:
        finding = msgspec.structs.replace(finding, place=_engine_place(settings))
        with contextlib.closing(open_engine(settings)) as engine:
            finding = _with_facts(finding, engine)
            return msgspec.structs.replace(finding, reply_seconds=_seconds_to_reply(engine))
    except HaloError as error:
        return msgspec.structs.replace(finding, problem=str(error))


def _engine_place(settings: EngineSettings) -> str:
    if settings.kind != "llamacpp":
        return without_password(settings.url)
    return str(Path(settings.model).expanduser() if settings.model else paths.bundled_model_path())


def _way_out(settings: EngineSettings) -> str:
    if settings.kind in ("kobold", "openai"):
        return (
            "start the server, or check its address (--engine URL) and protocol (--engine-kind). Without both flags, "
            "the bundled model is used."
        )
    if settings.model:
        return "choose an existing GGUF chat model with --model your.gguf, or leave it out to use the bundled one."
    return "reinstall Halo Weave with `uv sync --reinstall`, or use a model server with --engine URL."


def _with_facts(finding: EngineFinding, engine: Engine) -> EngineFinding:
    facts = engine.facts
    return msgspec.structs.replace(
        finding,
        name=facts.name,
        trained_context=facts.trained_context,
        usable_context=facts.usable_context,
        layers=facts.layers,
        heads=facts.heads,
        abilities=facts.abilities,
    )


def _seconds_to_reply(engine: Engine) -> float:
    """Time a one-token reply: a model that opens, above all on a server, may still be unable to answer."""
    started = time.perf_counter()
    question = [
        *turns.start_tokens(engine),
        *turns.turn_tokens(engine, "user", "Hello"),
        *turns.opening_tokens(engine, "assistant"),
    ]
    with contextlib.closing(engine.open_context(attention=None)) as context:
        context.sync([Placed(position, token.id) for position, token in enumerate(question)])
        for _ in context.generate(GenerationSettings(max_tokens=1, temperature=0)):
            pass
    return time.perf_counter() - started


def _examine_sampling(settings: Settings, model: str) -> list[SamplingFinding]:
    own, in_use = model_defaults(model), settings.for_model(model).generation
    return [
        SamplingFinding(
            name,
            getattr(in_use, name),
            "chosen" if f"generation.{name}" in settings.chosen else "model" if name in own else "default",
        )
        for name in _SAMPLING
    ]


def _examine_embedder(settings: EmbedderSettings) -> EmbedderFinding:
    if settings.kind == "openai":
        problem = "" if settings.url else "embedder.url is not set; set it to the address of the embedding server."
        return EmbedderFinding(settings.kind, without_password(settings.url), problem=problem)
    if settings.kind == "gguf":
        file = Path(settings.model).expanduser()
        problem = (
            "" if file.is_file() else f"The file {file} does not exist; set embedder.model to a GGUF embedding model."
        )
        return EmbedderFinding(settings.kind, str(file), problem=problem)
    try:
        folder = paths.bundled_minilm_folder()
    except EmbedderError as error:
        return EmbedderFinding(settings.kind, problem=str(error))
    converted = sorted(paths.cache_folder().rglob("all-minilm-l6-v2*.gguf"))
    if converted:
        return EmbedderFinding(settings.kind, str(converted[0]), "prepared")
    return EmbedderFinding(settings.kind, str(folder), "will be prepared at first use (takes a few seconds)")


def _examine_place(path: Path) -> FolderFinding:
    return FolderFinding(str(path), path.exists(), os.access(_nearest_existing(path), os.W_OK))


def _nearest_existing(path: Path) -> Path:
    return next(place for place in (path, *path.parents) if place.exists())


def _library_in_words(library: LibraryFinding) -> str:
    if library.problem:
        return f"Library: {library.problem}"
    return f"Library: {library.version} ({library.path})"


def _engine_in_words(engine: EngineFinding) -> Iterator[str]:
    yield f"Engine: {engine.kind}" + (f", {engine.place}" if engine.place else "")
    if engine.name:
        yield f"Model: {engine.name}, {engine.layers} layers with {engine.heads} heads each"
        yield f"Context: {engine.usable_context:,} tokens usable, trained with {engine.trained_context:,}"
    if engine.abilities is not None:
        yield f"Attention: {_ability_in_words(engine.abilities.attention)}"
        yield f"Editing the context: {_ability_in_words(engine.abilities.editing)}"
    if engine.reply_seconds is not None:
        yield f"Reply: began after {engine.reply_seconds:.2f} s"


def _sampling_in_words(sampling: list[SamplingFinding]) -> str:
    return "Sampling: " + ", ".join(
        f"{one.name.replace('_', ' ')} {one.value:g} ({_SOURCES[one.source]})" for one in sampling
    )


def _ability_in_words(ability: Ability) -> str:
    return "yes" if ability.available else f"no: {ability.why_not}"


def _embedder_in_words(embedder: EmbedderFinding) -> str:
    return "Embedder: " + ", ".join(
        part for part in (embedder.kind, embedder.place, embedder.state, embedder.problem) if part
    )


def _place_in_words(place: FolderFinding) -> str:
    if place.exists:
        return f"{place.path} ({'writable' if place.writable else 'not writable'})"
    return f"{place.path} ({'does not exist yet' if place.writable else 'missing and cannot be created'})"
