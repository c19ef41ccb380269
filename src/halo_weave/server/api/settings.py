"""The settings over HTTP, validated by the same code as everywhere else."""

import threading
from typing import Any

import msgspec

from halo_weave.config import (
    HIDDEN_VALUE,
    Settings,
    Source,
    checked_value,
    config_text,
    describe_settings,
    is_address,
    is_secret,
    load_settings,
    present_value,
    setting_sources,
)
from halo_weave.errors import SettingError
from halo_weave.server.api import settings_file
from halo_weave.server.http.endpoints import Call, Endpoint
from halo_weave.session.settings import WindowSettings

_AT_ONCE = {"engine", "embedder", *WindowSettings.__struct_fields__}
"""Sections whose changes apply without a restart."""
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
    """Whether a window can override the setting."""


class SettingsChanged(msgspec.Struct):
    """`restart` lists settings that apply only after a restart, `overridden` those that the environment or the command
    line overrides.

    `is_loading` says that the change loads another model; if that fails, `failure` in the engine's status says why.
    """

    restart: list[str]
    overridden: list[str]
    is_loading: bool


def _list(call: Call) -> list[SettingShape]:
    settings, sources = call.program.settings_in_use, setting_sources(*call.program.layers, call.program.model)
    return [
        SettingShape(
            name=one.name,
            section=one.name.partition(".")[0],
            type=one.type,
            default=one.default,
            value=present_value(settings, one.name),
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
    layers, program = call.program.layers, call.program
    wanted = {
        name: None if value is None and name in _NAMES else checked_value(name, value, "the page")
        for name, value in call.body.items()
        if not _is_kept_hidden(program.settings, name, value)
    }
    with _writing:
        before = config_text(layers.file)
        settings_file.replace(layers.file, settings_file.changed(before, wanted))
        try:
            settings = load_settings(*layers)
            if settings.engine != program.settings.engine:
                program.require_usable(settings.engine)
        except BaseException:
            settings_file.replace(layers.file, before)
            raise
        previous = program.settings
        is_loading = program.use_settings(settings)
    sources = setting_sources(*layers)
    return SettingsChanged(
        restart=[
            name
            for name in wanted
            if name.partition(".")[0] not in _AT_ONCE and _value(settings, name) != _value(previous, name)
        ],
        overridden=[name for name in wanted if sources[name] in ("environment", "command line")],
        is_loading=is_loading,
    )


def _is_kept_hidden(settings: Settings, name: str, value: Any) -> bool:
    """Whether a hidden value comes back unchanged. A hidden password must not be sent to another server."""
    if is_address(name) and isinstance(value, str) and f"{HIDDEN_VALUE}@" in value:
        if value != present_value(settings, name):
            raise SettingError(f"{name} contains {HIDDEN_VALUE} in place of the password; enter the complete address.")
        return True
    return is_secret(name) and bool(value == HIDDEN_VALUE)


def _value(settings: Any, name: str) -> Any:
    section, _, field = name.partition(".")
    return getattr(getattr(settings, section), field)


ENDPOINTS = [
    Endpoint(
        "GET", "/api/settings", "List all settings with value, default, range and help.", _list, list[SettingShape]
    ),
    Endpoint(
        "PUT",
        "/api/settings",
        "Change settings in config.toml by name; null removes one, so that its default applies.",
        _change,
        SettingsChanged,
        body=dict[str, Any],
    ),
]
