"""Lists settings and benchmark figures as lines for people or as JSON for programs."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from halo_weave.config import Settings, describe_settings, present_value
from halo_weave.terminal import output


def write_settings(settings: Settings, *, as_json: bool) -> None:
    if as_json:
        described = [
            msgspec.structs.asdict(setting) | {"value": present_value(settings, setting.name)}
            for setting in describe_settings()
        ]
        write_json(described)
    else:
        output.write_line("\n".join(_settings_in_words(settings)))


def write_figures(figures: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        write_json(figures)
        return
    rows = [(name, _figure(value)) for name, value in _flattened(figures)]
    width = max((len(name) for name, _ in rows), default=0)
    for name, value in rows:
        output.write_line(f"{name:<{width}}  {value}")


def _settings_in_words(settings: Settings) -> Iterator[str]:
    section = ""
    for setting in describe_settings():
        if section != (section := setting.name.partition(".")[0]):
            yield f"[{section}]"
        value = present_value(settings, setting.name)
        default = "default" if value == setting.default else f"default: {_literal(setting.default)}"
        yield f"{setting.name} = {_literal(value)}  ({default})"
        yield f"    {setting.help} Must be {setting.allowed}."


def _literal(value: Any) -> str:
    return "none" if value is None else msgspec.json.encode(value).decode()


def _flattened(figures: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in figures.items():
        if isinstance(value, Mapping):
            yield from _flattened(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _figure(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.4g}"
    if isinstance(value, list | tuple):
        return " ".join(_figure(item) for item in value)
    return str(value)


def write_json(value: Any) -> None:
    output.write_line(msgspec.json.format(msgspec.json.encode(value)).decode())
