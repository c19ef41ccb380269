"""Presets over HTTP: list, save, delete, and import those of SillyTavern."""

from typing import Annotated, Any

import msgspec

from halo_weave.server.http.endpoints import Call, Endpoint
from halo_weave.session.presets.presets import Preset, checked_preset
from halo_weave.session.presets.sillytavern import read_preset

Name = Annotated[str, msgspec.Meta(max_length=1000)]
Content = Annotated[str, msgspec.Meta(max_length=4_000_000)]


class PresetSettings(msgspec.Struct, forbid_unknown_fields=True):
    settings: dict[str, Any]


class PresetFile(msgspec.Struct, forbid_unknown_fields=True):
    """`content` is the text of the file."""

    name: Name
    content: Content


class ImportedPreset(msgspec.Struct):
    """`ignored` are the names in the file that have no equal here."""

    preset: Preset
    ignored: list[str]


def _list(call: Call) -> list[Preset]:
    return call.program.presets.all()


def _save(call: Call) -> Preset:
    preset = checked_preset(call.part("preset"), call.body.settings)
    call.program.presets.save(preset)
    return preset


def _delete(call: Call) -> None:
    call.program.presets.delete(call.part("preset"))


def _import(call: Call) -> ImportedPreset:
    read = read_preset(call.body.content)
    preset = checked_preset(call.body.name, read.settings)
    call.program.presets.save(preset)
    return ImportedPreset(preset, read.ignored)


ENDPOINTS = [
    Endpoint("GET", "/api/presets", "List the presets by name.", _list, list[Preset]),
    Endpoint(
        "POST", "/api/presets/import", "Import a preset of SillyTavern.", _import, ImportedPreset, body=PresetFile
    ),
    Endpoint("PUT", "/api/presets/{preset}", "Save a preset.", _save, Preset, body=PresetSettings),
    Endpoint("DELETE", "/api/presets/{preset}", "Delete a preset.", _delete),
]
