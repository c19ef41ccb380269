"""The user's presets, in one file beside the settings."""

import os
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from halo_weave.errors import InputError, SettingError
from halo_weave.session.settings import WindowSettings, with_overrides
from halo_weave.system.private_files import make_private_folder

SECTIONS = ("generation", "chat")
"""The sections of a window's settings that a preset may have."""
MOST_PRESETS = 500
MOST_BYTES = 4 * 1024 * 1024
_LONGEST_NAME = 200


class Preset(msgspec.Struct, frozen=True):
    """`settings` are by dotted names such as `generation.temperature`."""

    name: str
    settings: dict[str, Any]


def checked_preset(name: str, settings: Mapping[str, Any]) -> Preset:
    """Raises InputError or SettingError if the name or a setting is not valid."""
    name = name.strip()
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        raise InputError(
            f"A preset's name must have 1 to {_LONGEST_NAME} printable characters; {name[:40]!r} is not valid."
        )
    others = [setting for setting in settings if setting.partition(".")[0] not in SECTIONS]
    if others:
        raise InputError(f"A preset has settings for sampling and prompts alone; {others[0][:40]} is neither.")
    with_overrides(WindowSettings(), settings)
    return Preset(name, dict(settings))


class Presets:
    """Thread-safe. Another program's changes to the file are seen, because it is read each time."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = threading.Lock()

    def all(self) -> list[Preset]:
        """By name."""
        try:
            content = self._file.read_bytes()
            return sorted(msgspec.json.decode(content, type=list[Preset]), key=lambda preset: preset.name.casefold())
        except FileNotFoundError:
            return []
        except (OSError, msgspec.MsgspecError) as error:
            raise SettingError(f"Cannot read the presets in {self._file}: {error}.") from error

    def save(self, preset: Preset) -> None:
        """Add the preset, in the place of one with the same name."""
        with self._lock:
            others = [one for one in self.all() if one.name != preset.name]
            if len(others) >= MOST_PRESETS:
                raise InputError(f"There are {len(others)} presets, which is the limit; delete one first.")
            self._write([*others, preset])

    def delete(self, name: str) -> None:
        with self._lock:
            presets = self.all()
            others = [one for one in presets if one.name != name]
            if len(others) == len(presets):
                raise InputError(f"There is no preset {name[:40]!r}; nothing was deleted.")
            self._write(others)

    def _write(self, presets: list[Preset]) -> None:
        content = msgspec.json.format(msgspec.json.encode(presets))
        if len(content) > MOST_BYTES:
            raise InputError(
                f"The presets would have {len(content):,} bytes, more than the limit of {MOST_BYTES:,}; nothing was "
                "saved."
            )
        try:
            make_private_folder(self._file.parent)
            handle, name = tempfile.mkstemp(prefix=".presets-", suffix=".part", dir=self._file.parent)
            try:
                with os.fdopen(handle, "wb") as written:
                    written.write(content)
                    written.flush()
                    os.fsync(written.fileno())
                Path(name).replace(self._file)
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise
        except OSError as error:
            raise SettingError(f"Cannot write {self._file}: {error.strerror}; nothing was saved.") from error
