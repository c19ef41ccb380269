"""The settings over HTTP; the same code as everywhere says what is allowed."""

import threading
from typing import Any

import msgspec

from halo_weave.config import (
    HIDDEN_VALUE,
    Source,
    checked_value,
    describe_settings,
    is_secret,
    load_settings,
    present_value,
    setting_sources,
)
from halo_weave.server import settings_file
from halo_weave.server.endpoints import Call, Endpoint
from halo_weave.session.settings import WindowSettings

_AT_ONCE = {"engine", "embedder", *WindowSettings.__struct_fields__}
"""Sections whose changes need no restart."""
_NAMES = frozenset(one.name for one in describe_settings())
_writing = threading.Lock()


class SettingShape(msgspec.Struct):
    name: str
    section: str
    type: str
    default: Any
    value: Any
    allowed: str
    minimum: float | None
    maximum: float | None
    choices: list[str]
    help: str
    source: Source
    is_secret: bool
    is_for_windows: bool
    """Whether a window can have a value of its own."""


class SettingsChanged(msgspec.Struct):
    """`restart` names what counts only after a restart, `overridden` what the environment or command line hides."""

    restart: list[str]
    overridden: list[str]


def _list(call: Call) -> list[SettingShape]:
    sources = setting_sources(*call.program.layers)
    return [
        SettingShape(
            name=one.name,
            section=one.name.partition(".")[0],
            type=one.type,
            default=one.default,
            value=present_value(call.program.settings, one.name),
            allowed=one.allowed,
            minimum=one.minimum,
            maximum=one.maximum,
            choices=list(one.choices),
            help=one.help,
            source=sources[one.name],
            is_secret=is_secret(one.name),
            is_for_windows=one.name.partition(".")[0] in WindowSettings.__struct_fields__,
        )
        for one in describe_settings()
    ]


def _change(call: Call) -> SettingsChanged:
    wanted = {
        name: None if value is None and name in _NAMES else checked_value(name, value, "the page")
        for name, value in call.body.items()
        if not (is_secret(name) and value == HIDDEN_VALUE)
    }
    layers, program = call.program.layers, call.program
    with _writing:
        before = settings_file.read(layers.file)
        settings_file.replace(layers.file, settings_file.changed(before, wanted))
        try:
            settings = load_settings(*layers)
        except BaseException:
            settings_file.replace(layers.file, before)
            raise
        previous = program.settings
        program.use_settings(settings)
    sources = setting_sources(*layers)
    return SettingsChanged(
        restart=[
            name
            for name in wanted
            if name.partition(".")[0] not in _AT_ONCE and _value(settings, name) != _value(previous, name)
        ],
        overridden=[name for name in wanted if sources[name] in ("environment", "command line")],
    )


def _value(settings: Any, name: str) -> Any:
    section, _, field = name.partition(".")
    return getattr(getattr(settings, section), field)


ENDPOINTS = [
    Endpoint("GET", "/api/settings", "All settings with value, default, range and help.", _list, list[SettingShape]),
    Endpoint(
        "PUT",
        "/api/settings",
        "Change settings by their names in config.toml; null takes one out, so that its default counts.",
        _change,
        SettingsChanged,
        body=dict[str, Any],
    ),
]
