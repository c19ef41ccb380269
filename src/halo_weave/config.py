"""Settings: defaults < defaults of the model < config.toml < environment HALO_<SECTION>_<NAME> < command line.

Each layer is checked separately, so an invalid value is refused even if a later layer overrides it. Types, ranges and
choices come from the annotations of the settings; no setting is named in this module.
"""

import difflib
import functools
import math
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, get_type_hints

import msgspec
from msgspec import inspect

from halo_weave import paths
from halo_weave.engine.model_defaults import model_defaults
from halo_weave.engine.protocol import GenerationSettings
from halo_weave.engine.reader.settings import ReaderSettings
from halo_weave.engine.settings import EngineSettings
from halo_weave.errors import SettingError
from halo_weave.former_settings import FORMER_SETTINGS, former_setting_notice
from halo_weave.memory.embedders.embedder import EmbedderSettings
from halo_weave.memory.search.settings import SearchSettings
from halo_weave.memory.settings import MemorySettings
from halo_weave.session.settings import ChatSettings, PreviewSettings, ReflectionSettings, ToolSettings, WindowSettings
from halo_weave.text.server_address import HIDDEN, without_password
from halo_weave.weave.brightness.settings import ScorerSettings
from halo_weave.weave.settings import WeaveSettings

ENVIRONMENT_PREFIX = "HALO_"
HIDDEN_VALUE = HIDDEN
_LARGEST_FILE_BYTES = 1024 * 1024
Source = Literal["default", "model", "file", "environment", "command line"]


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    engine: EngineSettings = EngineSettings()
    generation: GenerationSettings = GenerationSettings()
    embedder: EmbedderSettings = EmbedderSettings()
    reader: ReaderSettings = ReaderSettings()
    memory: MemorySettings = MemorySettings()
    search: SearchSettings = SearchSettings()
    chat: ChatSettings = ChatSettings()
    weave: WeaveSettings = WeaveSettings()
    brightness: ScorerSettings = ScorerSettings()
    preview: PreviewSettings = PreviewSettings()
    reflection: ReflectionSettings = ReflectionSettings()
    tools: ToolSettings = ToolSettings()
    chosen: frozenset[str] = frozenset()
    """The names of settings that a person chose in any layer; a model's own defaults leave these alone."""

    def for_model(self, model: str) -> "Settings":
        """Return the settings with the defaults of the model of this name."""
        own = {name: value for name, value in model_defaults(model).items() if f"generation.{name}" not in self.chosen}
        return msgspec.structs.replace(self, generation=msgspec.structs.replace(self.generation, **own))

    @property
    def window(self) -> WindowSettings:
        """The defaults for windows without settings of their own."""
        return WindowSettings(**{name: getattr(self, name) for name in WindowSettings.__struct_fields__})


class SettingDescription(msgspec.Struct, frozen=True):
    """A setting for display. `minimum` and `maximum` are inclusive unless `allowed` says "above" or "below"."""

    name: str
    type: str
    default: Any
    allowed: str
    minimum: float | None
    maximum: float | None
    choices: tuple[str, ...]
    help: str


def load_settings(overrides: Mapping[str, str], environ: Mapping[str, str], config_file: Path) -> Settings:
    """Merge all layers. `overrides` maps dotted names to values as text; the file may be missing."""
    sections: dict[str, dict[str, Any]] = {}
    layered = _layered(overrides, environ, config_file)
    for dotted, (value, _) in layered.items():
        section, _, name = dotted.partition(".")
        sections.setdefault(section, {})[name] = value
    built: dict[str, Any] = {section: _section_types()[section](**named) for section, named in sections.items()}
    return Settings(**built, chosen=frozenset(layered))


def setting_sources(
    overrides: Mapping[str, str], environ: Mapping[str, str], config_file: Path, model: str = ""
) -> dict[str, Source]:
    """Return the layer that each setting's value comes from, for the model of this name."""
    by_default: dict[str, Source] = dict.fromkeys(_known(), "default")
    by_model: dict[str, Source] = {f"generation.{name}": "model" for name in model_defaults(model)}
    layered = _layered(overrides, environ, config_file)
    return by_default | by_model | {name: source for name, (_, source) in layered.items()}


def former_setting_notices(overrides: Mapping[str, str], environ: Mapping[str, str], config_file: Path) -> list[str]:
    """Return one sentence for each former setting that a layer still names. The layers must be valid."""
    in_file = (
        f"{section}.{name}"
        for section, named in _read_toml(config_file).items()
        if isinstance(named, dict)
        for name in named
    )
    former_variables = {_variable(name): name for name in FORMER_SETTINGS}
    return [
        *(former_setting_notice(name, f"in the file {config_file}") for name in in_file if name in FORMER_SETTINGS),
        *(
            former_setting_notice(former_variables[variable], f"from the environment variable {variable}")
            for variable in environ
            if variable in former_variables
        ),
        *(former_setting_notice(name, "from the command line") for name in overrides if name in FORMER_SETTINGS),
    ]


def checked_value(name: str, value: Any, source: str) -> Any:
    """Return a value in its form for the file. SettingError if it is not allowed. JSON does not tell 1 from 1.0."""
    if isinstance(value, int) and not isinstance(value, bool) and name in _known():
        value = float(value) if isinstance(_inner(_known()[name].kind), inspect.FloatType) else value
    return _checked(name, value, source, strict=True)


def describe_settings() -> Iterator[SettingDescription]:
    for name, setting in _known().items():
        bounds = _bounds(setting.kind)
        yield SettingDescription(
            name=name,
            type=_type_name(setting.kind),
            default=setting.default,
            allowed=_allowed(setting.kind),
            minimum=bounds.minimum,
            maximum=bounds.maximum,
            choices=_choices(setting.kind),
            help=setting.help,
        )


def present_value(settings: Settings, name: str) -> Any:
    """Return the value of a dotted name for display, without API keys and passwords in addresses."""
    section, _, field = name.partition(".")
    value = getattr(getattr(settings, section), field)
    if is_address(name):
        return without_password(value)
    return HIDDEN_VALUE if value and is_secret(name) else value


class _Known(msgspec.Struct, frozen=True):
    annotation: Any
    kind: inspect.Type
    default: Any
    help: str


class _Bounds(msgspec.Struct, frozen=True):
    minimum: float | None = None
    maximum: float | None = None
    minimum_excluded: bool = False
    maximum_excluded: bool = False


@functools.cache
def _section_types() -> dict[str, type[msgspec.Struct]]:
    return {name: hint for name, hint in get_type_hints(Settings).items() if name != "chosen"}


@functools.cache
def _known() -> dict[str, _Known]:
    """Return every setting by its dotted name, in the order of definition."""
    known = {}
    for section, struct in _section_types().items():
        hints = get_type_hints(struct, include_extras=True)
        for field in msgspec.structs.fields(struct):
            kind, description = _plain(inspect.type_info(hints[field.name]))
            known[f"{section}.{field.name}"] = _Known(hints[field.name], kind, field.default, description)
    return known


def _plain(kind: inspect.Type) -> tuple[inspect.Type, str]:
    """Split a type from its description, which may be outside or inside of "or none"."""
    if isinstance(kind, inspect.Metadata):
        inner, description = _plain(kind.type)
        return inner, (kind.extra_json_schema or {}).get("description", description)
    if isinstance(kind, inspect.UnionType):
        plain = [_plain(one) for one in kind.types]
        return inspect.UnionType(tuple(one for one, _ in plain)), "".join(description for _, description in plain)
    return kind, ""


def _layered(
    overrides: Mapping[str, str], environ: Mapping[str, str], config_file: Path
) -> dict[str, tuple[Any, Source]]:
    command_line = {
        name: _value_of_text(name, text, "the command line")
        for name, text in overrides.items()
        if name not in FORMER_SETTINGS
    }
    layers: list[tuple[dict[str, Any], Source]] = [
        (_file_values(config_file), "file"),
        (_environment_values(environ), "environment"),
        (command_line, "command line"),
    ]
    return {name: (value, source) for values, source in layers for name, value in values.items()}


def config_text(file: Path) -> str:
    """Return the file's text, empty if it is missing. SettingError if it is unreadable, not text, or too large."""
    try:
        with file.open("rb") as opened:
            content = opened.read(_LARGEST_FILE_BYTES + 1)
        if len(content) > _LARGEST_FILE_BYTES:
            raise SettingError(f"The file {file} has more than 1 MB, too much for settings; make it smaller.")
        return content.decode("utf-8-sig")  # some editors add a byte order mark
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise SettingError(f"The file {file} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise SettingError(f"The file {file} is not valid TOML: {error}.") from error


def _file_values(file: Path) -> dict[str, Any]:
    try:
        return _checked_file(file)
    except RecursionError:
        raise SettingError(f"The file {file} is nested too deeply; use tables with plain values.") from None


def _checked_file(file: Path) -> dict[str, Any]:
    source = f"the file {file}"
    values = {}
    for section, named in _read_toml(file).items():
        if section not in _section_types():
            raise _unknown(section, named, source, _section_types())
        if not isinstance(named, dict):
            raise SettingError(f"{section} in {source} is {_shown(section, named)}, but must be a table [{section}].")
        for name, value in named.items():
            dotted = f"{section}.{name}"
            if dotted in FORMER_SETTINGS:
                continue
            values[dotted] = _checked(dotted, value, source, strict=True)
    return values


def _read_toml(file: Path) -> dict[str, Any]:
    text = config_text(file)
    try:
        return tomllib.loads(text)
    except ValueError as error:  # also raised for numbers with thousands of digits
        raise SettingError(f"The file {file} is not valid TOML: {error}.") from error


def _environment_values(environ: Mapping[str, str]) -> dict[str, Any]:
    variables = {_variable(name): name for name in _known()}
    others = {paths.HOME_VARIABLE, *map(_variable, FORMER_SETTINGS)}
    values = {}
    for variable, text in environ.items():
        if not variable.startswith(ENVIRONMENT_PREFIX) or variable in others:
            continue
        if variable not in variables:
            raise _unknown(variable, text, "the environment", [*variables, paths.HOME_VARIABLE])
        name = variables[variable]
        values[name] = _value_of_text(name, text, f"the environment variable {variable}")
    return values


def _variable(name: str) -> str:
    return ENVIRONMENT_PREFIX + name.replace(".", "_").upper()


def _value_of_text(name: str, text: str, source: str) -> Any:
    kind = _known()[name].kind if name in _known() else None
    value: Any = text
    if isinstance(kind, inspect.UnionType) and text.strip().lower() == "none":
        value = None
    elif isinstance(kind, inspect.VarTupleType):
        value = _list_of_text(text)
    return _checked(name, value, source, strict=False)


def _list_of_text(text: str) -> Any:
    """Parse a JSON list, or wrap a single item. A malformed list is returned as text, to be refused later."""
    if not text.startswith("["):
        return [text] if text else []
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text


def _checked(name: str, value: Any, source: str, *, strict: bool) -> Any:
    if name in FORMER_SETTINGS:
        raise SettingError(former_setting_notice(name, f"from {source}"))
    if name not in _known():
        raise _unknown(name, value, source, _known())
    setting = _known()[name]
    try:
        converted = msgspec.convert(value, setting.annotation, strict=strict)
        if isinstance(converted, float) and not math.isfinite(converted):
            raise msgspec.ValidationError
    except msgspec.ValidationError:
        allowed = _allowed(setting.kind)
        raise SettingError(f"{name} from {source} is {_shown(name, value)}, but must be {allowed}.") from None
    return converted


def _unknown(name: str, value: Any, source: str, candidates: Mapping[str, Any] | list[str]) -> SettingError:
    close = difflib.get_close_matches(name, list(candidates), n=1)
    way_out = f"did you mean {close[0]}?" if close else "run `halo-weave settings` for a list."
    return SettingError(f"There is no setting {name} ({_shown(name, value)} from {source}); {way_out}")


def is_secret(name: str) -> bool:
    return name.lower().endswith("api_key")


def is_address(name: str) -> bool:
    return name.lower().endswith("url")


def _shown(name: str, value: Any) -> str:
    shown = HIDDEN_VALUE if is_secret(name) else repr(value)
    if is_address(name) or "://" in shown:
        shown = without_password(shown)
    return shown if len(shown) <= 80 else shown[:77] + "..."


def _inner(kind: inspect.Type) -> inspect.Type:
    """Return the type without "or none"."""
    if isinstance(kind, inspect.UnionType):
        return next(one for one in kind.types if not isinstance(one, inspect.NoneType))
    return kind


def _type_name(kind: inspect.Type) -> str:
    if kind is not _inner(kind):
        return f"{_type_name(_inner(kind))} or none"
    match kind:
        case inspect.BoolType():
            return "true or false"
        case inspect.IntType():
            return "whole number"
        case inspect.FloatType():
            return "number"
        case inspect.LiteralType():
            return "choice"
        case inspect.VarTupleType():
            return "list of texts"
        case _:
            return "text"


def _choices(kind: inspect.Type) -> tuple[str, ...]:
    return tuple(str(value) for value in kind.values) if isinstance(kind, inspect.LiteralType) else ()


def _bounds(kind: inspect.Type) -> _Bounds:
    kind = _inner(kind)
    if not isinstance(kind, inspect.IntType | inspect.FloatType):
        return _Bounds()
    return _Bounds(
        minimum=kind.gt if kind.ge is None else kind.ge,
        maximum=kind.lt if kind.le is None else kind.le,
        minimum_excluded=kind.gt is not None,
        maximum_excluded=kind.lt is not None,
    )


def _allowed(kind: inspect.Type) -> str:
    """Describe the allowed values, to follow "must be"."""
    if kind is not _inner(kind):
        return f"{_allowed(_inner(kind))}, or none"
    if isinstance(kind, inspect.LiteralType):
        return f"one of {', '.join(_choices(kind))}"
    if isinstance(kind, inspect.BoolType):
        return "true or false"
    if isinstance(kind, inspect.VarTupleType):
        return 'a list of strings, such as ["one", "two"]'
    if isinstance(kind, inspect.StrType):
        return "text"
    bounds = _bounds(kind)
    lower = f"{'above' if bounds.minimum_excluded else 'from'} {bounds.minimum}" if bounds.minimum is not None else ""
    upper = f"{'below' if bounds.maximum_excluded else 'to'} {bounds.maximum}" if bounds.maximum is not None else ""
    if bounds.minimum_excluded and upper and not bounds.maximum_excluded:
        upper = f"and up {upper}"
    return " ".join(part for part in (f"a {_type_name(kind)}", lower, upper) if part)
