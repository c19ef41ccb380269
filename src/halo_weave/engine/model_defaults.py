"""Settings that suit particular models better than the general defaults. A person's own settings come before them."""

import functools
import tomllib
from collections.abc import Mapping
from fnmatch import fnmatchcase
from importlib.resources import files
from types import MappingProxyType

import msgspec

from halo_weave.engine.protocol import GenerationSettings

_FILE = "model_defaults.toml"


class _Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`names` are patterns of model names in lower case, with * for any text."""

    names: tuple[str, ...]
    generation: Mapping[str, object]


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    model: tuple[_Entry, ...]


def model_defaults(name: str) -> Mapping[str, object]:
    """Return the generation settings that the table has for a model; the first entry that matches its name counts."""
    lowered = name.lower()
    for entry in _entries():
        if any(fnmatchcase(lowered, pattern) for pattern in entry.names):
            return entry.generation
    return MappingProxyType({})


@functools.cache
def _entries() -> tuple[_Entry, ...]:
    text = files(__package__).joinpath(_FILE).read_text(encoding="utf-8")
    entries = msgspec.convert(tomllib.loads(text), _Table).model
    for entry in entries:
        msgspec.convert(dict(entry.generation), GenerationSettings)  # names and ranges are those of the settings
    return entries
