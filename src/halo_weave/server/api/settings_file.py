"""Edits config.toml and preserves comments, order and all other settings."""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from halo_weave.errors import SettingError
from halo_weave.system.private_files import make_private_folder


def changed(text: str, values: Mapping[str, Any]) -> str:
    """The file's text with these values set, by dotted names; None removes a setting, so that its default applies."""
    try:
        document = tomlkit.parse(text)
        for dotted, value in values.items():
            section, _, name = dotted.partition(".")
            if value is not None:
                document.setdefault(section, tomlkit.table())[name] = list(value) if isinstance(value, tuple) else value
            elif name in document.get(section, {}):
                del document[section][name]
        return tomlkit.dumps(document)
    except (TOMLKitError, ValueError, TypeError) as error:
        raise SettingError(f"Cannot change the settings file: {error}.") from error


def replace(file: Path, text: str) -> None:
    """Replace the file atomically; a private file stays private."""
    temporary: Path | None = None
    try:
        make_private_folder(file.parent)
        target = file.resolve()
        handle, name = tempfile.mkstemp(prefix=f".{target.name}-", suffix=".part", dir=target.parent)
        temporary = Path(name)
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as written:
            written.write(text)
            written.flush()
            os.fsync(written.fileno())
        if target.exists():
            temporary.chmod(target.stat().st_mode & 0o777)
        temporary.replace(target)
    except OSError as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        raise SettingError(f"Cannot write the file {file}: {error.strerror}; nothing was changed.") from error
